import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/core/prompts.ts';

/** A fenced block of a page. */
export interface Snippet {
  page: string;
  /** Of the opening fence, from 1. */
  line: number;
  language: string;
  text: string;
  /** The file that the line before the fence says it is: "…, in `a/b.md`:". */
  file: string | undefined;
}

export const readPage = (page: string): string => readFileSync(join(packageRoot, page), 'utf8');

export function snippetsOf(page: string): Snippet[] {
  const lines = readPage(page).split('\n');
  const snippets: Snippet[] = [];
  for (let start = 0; start < lines.length; start++) {
    const language = /^```(.*)$/.exec(lines[start] ?? '')?.[1];
    if (language === undefined) continue;
    const end = lines.indexOf('```', start + 1);
    if (end < 0) throw new Error(`${page}:${start + 1}: the fence is not closed`);
    const lead = lines.slice(0, start).findLast((line) => line.trim() !== '') ?? '';
    snippets.push({
      page,
      line: start + 1,
      language,
      text: `${lines.slice(start + 1, end).join('\n')}\n`,
      file: /`([^`\s]+\/[^`\s]+\.\w+)`[^`]*:$/.exec(lead)?.[1],
    });
    start = end;
  }
  return snippets;
}
