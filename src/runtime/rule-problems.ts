import { nearest } from '../config/nearest.ts';
import { BUILTIN_TOOL_NAMES } from '../core/tool-names.ts';
import { parseToolRules } from '../core/tool-rules.ts';

/**
 * What is wrong with permission rules. A mistyped one is kept, since a tool of that name may come
 * later, but whoever wrote `deny = ["shel(rm *)"]` must hear that it forbids nothing.
 */
export function ruleProblems(lists: Record<string, readonly string[]>, ownTools: readonly string[]): string[] {
  const tools = [...BUILTIN_TOOL_NAMES, ...ownTools];
  return Object.entries(lists).flatMap(([name, rules]) =>
    parseToolRules(rules)
      .unknown.filter((text) => !ownTools.includes(text))
      .map((text) => {
        if (/[()]/.test(text)) return `${name}: ${JSON.stringify(text)} is no rule; write TOOL or TOOL(PATTERN)`;
        const near = nearest(text, tools);
        return `${name}: there is no tool ${JSON.stringify(text)}${near ? `; did you mean ${near}?` : ''}`;
      }),
  );
}
