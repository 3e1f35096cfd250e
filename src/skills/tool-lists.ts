import { parseToolRules, type ToolRule } from '../core/tool-rules.ts';
import { wildcardMatches } from '../core/wildcard.ts';
import type { Field, Value } from './front-matter.ts';

export interface ToolList {
  /** Unset: the key says nothing. Empty: no tool at all. */
  rules?: ToolRule[] | undefined;
  /** Refused by a mapping such as `tools: {write: false}`. */
  refused: ToolRule[];
  unknown: string[];
  unreadable: boolean;
}

/**
 * Reads a list of tools in every spelling. One that is no list, or has items that are no names of
 * tools, is unreadable: the caller then grants nothing, or refuses everything.
 */
export function readTools(field: Field, meaning: 'allowed' | 'disallowed'): ToolList {
  const nothing: ToolList = { refused: [], unknown: [], unreadable: false };
  const { value } = field;
  if (field.unreadable) return { ...nothing, unreadable: true };
  if (typeof value === 'string') {
    const text = value.trim();
    if (/^(?:|~|null)$/i.test(text)) return nothing;
    return fromTexts([text]);
  }
  if (Array.isArray(value)) {
    const texts = value.map((item) => textOfItem(item));
    return texts.includes(undefined) ? { ...nothing, unreadable: true } : fromTexts(texts as string[]);
  }
  return fromSwitches(value, meaning === 'allowed' && /^tools$/i.test(field.key) ? 'switches' : meaning);
}

/** `- Bash: git *` is a mapping to YAML, and `- - read` a list; both say one thing only. */
function textOfItem(item: Value): string | undefined {
  if (typeof item === 'string') return item;
  if (Array.isArray(item)) return item.length === 1 && typeof item[0] === 'string' ? item[0] : undefined;
  return undefined;
}

function fromTexts(texts: string[]): ToolList {
  const { rules, unknown } = parseToolRules(texts);
  const wrote = texts.some((text) => !/^[\s[\]"',]*$/.test(text));
  return { rules, refused: [], unknown, unreadable: wrote && rules.length === 0 };
}

/**
 * `tools: {write: false}` switches tools off and leaves the others; under a name that says what it lists,
 * those that are switched on are the list.
 */
function fromSwitches(switches: Record<string, Value>, meaning: 'allowed' | 'disallowed' | 'switches'): ToolList {
  const on: string[] = [];
  const off: string[] = [];
  for (const [tool, value] of Object.entries(switches)) {
    const text = typeof value === 'string' ? value.trim().toLowerCase() : '';
    if (['true', 'yes', 'on', '1'].includes(text)) on.push(tool);
    else if (['false', 'no', 'off', '0'].includes(text)) off.push(tool);
    else return { refused: [], unknown: [], unreadable: true };
  }
  if (meaning === 'disallowed' || (meaning === 'allowed' && (on.length > 0 || off.length === 0))) return fromTexts(on);
  const { rules, unknown } = parseToolRules(off);
  return { refused: rules, unknown, unreadable: false };
}

/** What both lists allow. */
export function intersectRules(a: readonly ToolRule[], b: readonly ToolRule[]): ToolRule[] {
  const both: ToolRule[] = [];
  for (const left of a) {
    for (const right of b) {
      const rule = narrower(left, right);
      if (rule !== undefined && !both.some((each) => each.tool === rule.tool && each.pattern === rule.pattern)) {
        both.push(rule);
      }
    }
  }
  return both;
}

function narrower(a: ToolRule, b: ToolRule): ToolRule | undefined {
  const tool = a.tool === b.tool || covers(b.tool, a.tool) ? a.tool : covers(a.tool, b.tool) ? b.tool : undefined;
  if (tool === undefined) return undefined;
  if (a.pattern === undefined || a.pattern === b.pattern) return withPattern(tool, b.pattern);
  if (b.pattern === undefined) return withPattern(tool, a.pattern);
  return undefined;
}

const withPattern = (tool: string, pattern: string | undefined): ToolRule =>
  pattern === undefined ? { tool } : { tool, pattern };

/** Whether a name with `*` stands for the other one; two different wildcards share nothing we could name. */
const covers = (wild: string, tool: string): boolean =>
  wild === '*' || (wild.includes('*') && !tool.includes('*') && wildcardMatches(wild, tool));
