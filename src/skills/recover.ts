import type { Field, Value } from './front-matter.ts';
import { type KeyId, keyOf, ruleOf } from './keys.ts';
import { splitList, unquoted, withoutBrackets } from './lists.ts';
import { foldLines, recoverText } from './recover-text.ts';

interface Segment {
  key: string;
  /** What stands after the colon, then the lines below. */
  lines: string[];
  line: number;
}

/**
 * Reads a header that is no valid YAML: cuts it into one piece a key, reads each piece as YAML, and
 * guesses only at those that fail. Known keys always start a piece, so that a restriction is never
 * taken for the end of a description; other words with a colon only where they look like a key.
 */
export function recoverFields(header: string, strict: (source: string) => Field[] | undefined): Field[] {
  return cut(header.split('\n')).map((segment) => {
    const source = `${segment.key}:${segment.lines.join('\n')}`;
    const read = /^[\w-]+$/.test(segment.key) ? strict(source) : undefined;
    const [only] = read ?? [];
    if (read?.length === 1 && only?.key === segment.key) return { ...only, line: segment.line };
    return guess(segment);
  });
}

/** Lines of a merge conflict, and the mark that ends a YAML document. */
const NO_CONTENT = /^(?:<{7}|\|{7}|={7}|>{7}|\.\.\.)(?:[ \t]|$)/;
const KEY_LINE = /^([ \t]*)(["']?)([A-Za-z_][\w.-]*)\2[ \t]*[:\uFF1A](.*)$/;
/** Speakers in the example dialogues that agent descriptions hold. */
const SPEAKERS = new Set(['user', 'assistant', 'human', 'system', 'context', 'commentary', 'example']);

function cut(lines: string[]): Segment[] {
  const segments: Segment[] = [];
  const openTags = openTagsPerLine(lines);
  let base: number | undefined;
  let capitals = false;
  for (const [index, line] of lines.entries()) {
    if (NO_CONTENT.test(line)) continue;
    const current = segments.at(-1);
    const match = KEY_LINE.exec(line);
    if (match !== null) {
      const [, indent, , key, rest] = match as unknown as [string, string, string, string, string];
      base ??= indent.length;
      if (segments.length === 0) capitals = /^[A-Z]/.test(key);
      const place = { atBase: indent.length <= base, insideTag: openTags[index]!, capitals };
      if (startsField(key, rest, line, place, current)) {
        segments.push({ key, lines: [rest === '' || /^[ \t]/.test(rest) ? rest : ` ${rest}`], line: index + 1 });
        continue;
      }
    }
    const isComment = /^[ \t]*#(?:[ \t]|$)/.test(line) && (current?.lines[0]?.trim() ?? '') === '';
    if (current !== undefined && !isComment) current.lines.push(line);
  }
  return segments;
}

interface Place {
  atBase: boolean;
  insideTag: boolean;
  /** The header's own keys are written with capitals. */
  capitals: boolean;
}

function startsField(key: string, rest: string, line: string, place: Place, current: Segment | undefined): boolean {
  const known = keyOf(key);
  const spaced = rest === '' || /^[ \t]/.test(rest);
  const lower = /^[a-z_]/.test(key);
  if (known === undefined) {
    return place.atBase && spaced && !place.insideTag && (lower || place.capitals) && !SPEAKERS.has(key.toLowerCase());
  }
  if (!spaced && !line.includes('\uFF1A') && rest.startsWith('//')) return false;
  if (place.atBase) return lower || (!place.insideTag && (place.capitals || isUnmistakable(key, known)));
  return isUnmistakable(key, known) && !holdsNestedLines(current);
}

/** A restriction that no prose would write by chance. */
function isUnmistakable(key: string, known: KeyId): boolean {
  return ruleOf(known).restricts === true && (/[-_]|[a-z][A-Z]/.test(key) || key === 'tools');
}

/** Indented lines belong to a key without a value of its own, and to a block scalar. */
function holdsNestedLines(segment: Segment | undefined): boolean {
  const first = segment?.lines[0]?.trim() ?? '';
  return first === '' || /^[|>][-+0-9]*$/.test(first) || first.startsWith('#');
}

/** For each line, whether it stands inside an element such as `<example>` that is closed further down. */
function openTagsPerLine(lines: string[]): boolean[] {
  const closing = new Map<string, number>();
  for (const [index, line] of lines.entries()) {
    for (const match of line.matchAll(/<\/([A-Za-z][\w-]*)>/g)) closing.set(match[1]!, index);
  }
  const open: string[] = [];
  return lines.map((line, index) => {
    const inside = open.length > 0;
    for (const [, slash, tag] of line.matchAll(/<(\/?)([A-Za-z][\w-]*)>/g)) {
      if (slash === '/') open.splice(Math.max(0, open.lastIndexOf(tag!)), open.includes(tag!) ? 1 : 0);
      else if ((closing.get(tag!) ?? -1) >= index && !line.includes(`</${tag}>`)) open.push(tag!);
    }
    return inside;
  });
}

function guess(segment: Segment): Field {
  const known = keyOf(segment.key);
  const raw = segment.lines.join('\n').trim();
  const field: Field = { key: segment.key, value: '', raw, line: segment.line, repaired: true };
  const value = guessValue(known, segment.lines);
  return value === undefined ? { ...field, unreadable: true } : { ...field, value };
}

function guessValue(known: KeyId | undefined, lines: string[]): Value | undefined {
  switch (known === undefined ? 'text' : ruleOf(known).kind) {
    case 'tools':
      return guessTools(known === 'allowed-tools' ? withoutDoubtfulLines(lines) : lines);
    case 'names':
    case 'parameters':
      return listItems(lines)?.flatMap((item) => splitList(item, 'commas-and-blanks'));
    case 'phrases':
      return listItems(lines)?.flatMap((item) => splitList(item, 'commas'));
    case 'mapping':
      return ourEntries(lines.join('\n').slice(0, 65_536));
    case 'schema':
      return undefined;
    default:
      return recoverText(lines);
  }
}

const TOOL = /^[\w*?.:/@-]+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?$/;

/** Only what can be nothing but a list of tools: a wrong guess here would grant something. */
function guessTools(lines: string[]): string[] | undefined {
  const tools = listItems(lines)?.flatMap((item) => splitList(item, 'commas-and-blanks'));
  return tools === undefined || tools.length === 0 || !tools.every((tool) => TOOL.test(tool)) ? undefined : tools;
}

/** A list that is complete on its first line grants nothing that the lines below name. */
function withoutDoubtfulLines(lines: string[]): string[] {
  const first = lines[0]!.trim();
  const open = (first.match(/[[(]/g)?.length ?? 0) > (first.match(/[\])]/g)?.length ?? 0);
  return first === '' || open || first.endsWith(',') ? lines : lines.slice(0, 1);
}

/**
 * Items of a list in whatever shape is left of it; `undefined` when the lines are no list. A line at
 * the margin that is no item ends it: what prose says there must not become an item.
 */
function listItems(lines: string[]): string[] | undefined {
  const end = lines.findIndex((line, index) => index > 0 && /^[^\s#-]/.test(line));
  const own = end < 0 ? lines : lines.slice(0, end);
  const first = own[0]!.trim();
  if (first !== '' && !first.startsWith('#')) return [withoutBrackets(foldLines(own))];
  const items: string[] = [];
  for (const line of own.slice(1)) {
    if (line.trim() === '' || /^[ \t]*#/.test(line)) continue;
    const item = /^[ \t]*(?:-[ \t]+)+(.+)$/.exec(line)?.[1];
    if (item === undefined) return undefined;
    items.push(unquoted(item.replace(/[ \t]#.*$/, '')));
  }
  return items;
}

/** Of broken metadata, the entries that are ours. */
function ourEntries(source: string): Value {
  const entries: [string, string | string[]][] = [];
  const entry =
    /["']?(reasonix\.[\w.-]+)["']?[ \t]*:[ \t]*("[^"\n]*"|'[^'\n]*'|\[[^\]\n]*\]|[^\n]*?(?=,[ \t]*["']?[\w.-]+["']?[ \t]*:|\}|\n|$))/gi;
  for (const [, key, text] of source.matchAll(entry)) {
    const isList = text!.startsWith('[');
    entries.push([key!, isList ? splitList(withoutBrackets(text!), 'commas-and-blanks') : unquoted(text!)]);
  }
  return Object.fromEntries(entries);
}
