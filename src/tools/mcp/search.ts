import { fold } from '../../skills/search-matcher.ts';
import { termsOf } from '../../skills/search-words.ts';
import type { Tool } from '../define-tool.ts';

/** Tools in one answer of a search. */
const MOST_FOUND = 20;

/** The tools that say all words of `query`, else any, best first; without a query the first by name. */
export function searchTools(tools: readonly Tool[], query: string): { tools: Tool[]; matched: number } {
  const terms = termsOf(query);
  if (terms.all.length === 0) return { tools: tools.slice(0, MOST_FOUND), matched: tools.length };
  const texts = tools.map((tool) => ({ tool, name: fold(tool.name), text: fold(`${tool.name} ${tool.description}`) }));
  const withAll = texts.filter(({ text }) => terms.all.every((term) => text.includes(term)));
  const wanted = withAll.length > 0 ? terms.all : terms.any;
  const scored = (withAll.length > 0 ? withAll : texts)
    .map(({ tool, name, text }) => ({
      tool,
      score: wanted.reduce((sum, term) => sum + (name.includes(term) ? 3 : 0) + (text.includes(term) ? 1 : 0), 0),
    }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1));
  return { tools: scored.slice(0, MOST_FOUND).map(({ tool }) => tool), matched: scored.length };
}
