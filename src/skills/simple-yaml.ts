import type { Field, Value } from './front-matter.ts';

/**
 * Reads the front matter that most skills have, without loading the YAML library: plain and simply
 * quoted one-line values, lists of them, one level of mapping, and block scalars without surprises.
 * The answer is what the library would say with every scalar as text; anything whose reading could
 * be argued about gives `undefined`, and the library decides.
 */
export function readSimpleYaml(header: string): Field[] | undefined {
  if (!PRINTABLE.test(header)) return undefined;
  const lines = header.split('\n');
  const fields: Field[] = [];
  const seen = new Set<string>();
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!;
    if (line === '' || line[0] === '#') {
      at++;
      continue;
    }
    const entry = KEY.exec(line);
    if (entry === null || seen.has(entry[1]!)) return undefined;
    const key = entry[1]!;
    seen.add(key);
    const below = indentedBelow(lines, at + 1);
    if (below === undefined) return undefined;
    const value = readValue(withoutBlanks(entry[2] ?? ''), below);
    if (value === undefined) return undefined;
    const raw = [entry[2] ?? '', ...below].join('\n').trim();
    fields.push({ key, value, raw, line: at + 1 });
    at += 1 + below.length;
  }
  return fields;
}

/** No tab, no control sign, no lone surrogate, none of the separators that programs disagree on. */
const PRINTABLE = /^[^\0-\x09\x0B-\x1F\x7F-\xA0\uD800-\uDFFF\u2028\u2029\uFEFF\uFFFE\uFFFF]*$/u;
const KEY = /^([A-Za-z][A-Za-z0-9_-]*):(?: (.*))?$/;
const PLAIN_START = /^[\p{L}\p{N}]/u;
const FLOW_ITEM = /^[A-Za-z0-9_][A-Za-z0-9_./ *()-]*$/;

function plainOrQuoted(text: string): string | undefined {
  return isPlain(text) ? text : quoted(text);
}

const isPlain = (text: string): boolean =>
  PLAIN_START.test(text) && !text.includes(': ') && !text.includes(' #') && !text.endsWith(':');

function quoted(text: string): string | undefined {
  return /^"([^"\\]*)"$/.exec(text)?.[1] ?? /^'([^']*)'$/.exec(text)?.[1];
}

/** The lines below a key that are its own; `undefined` when a blank line makes that unclear. */
function indentedBelow(lines: string[], from: number): string[] | undefined {
  const below: string[] = [];
  for (let at = from; at < lines.length; at++) {
    const line = lines[at]!;
    if (line[0] === ' ' || line.startsWith('- ')) below.push(line);
    else if (line === '' && lines.slice(at).find((each) => each !== '')?.[0] === ' ') return undefined;
    else break;
  }
  return below;
}

function readValue(text: string, below: string[]): Value | undefined {
  if (below.length === 0) return text === '' ? '' : (flowList(text) ?? plainOrQuoted(text));
  if (text === '') return blockList(below) ?? blockMapping(below);
  return blockScalar(text, below);
}

function flowList(text: string): string[] | undefined {
  const inner = /^\[([^[\]{}]*)\]$/.exec(text)?.[1];
  if (inner === undefined) return undefined;
  if (withoutBlanks(inner) === '') return [];
  const items: string[] = [];
  for (const part of inner.split(',')) {
    const item = withoutBlanks(part);
    const value = FLOW_ITEM.test(item) ? item : quoted(item);
    if (value === undefined) return undefined;
    items.push(value);
  }
  return items;
}

function blockList(lines: string[]): string[] | undefined {
  const indent = indentOf(lines[0]!);
  const items: string[] = [];
  for (const line of lines) {
    if (indentOf(line) !== indent || !line.startsWith('- ', indent)) return undefined;
    const item = plainOrQuoted(withoutBlanks(line.slice(indent + 2)));
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items;
}

function blockMapping(lines: string[]): Record<string, string> | undefined {
  const indent = indentOf(lines[0]!);
  const entries: [string, string][] = [];
  for (const line of lines) {
    if (indentOf(line) !== indent || indent === 0) return undefined;
    const entry = KEY.exec(line.slice(indent));
    const key = entry?.[1];
    const text = withoutBlanks(entry?.[2] ?? '');
    const value = text === '' ? '' : plainOrQuoted(text);
    if (key === undefined || value === undefined || entries.some(([other]) => other === key)) return undefined;
    entries.push([key, value]);
  }
  return Object.fromEntries(entries);
}

/** `|` keeps lines, `>` folds them; only where no line is blank or more indented than the first. */
function blockScalar(sign: string, lines: string[]): string | undefined {
  if (!/^[|>]-?$/.test(sign)) return undefined;
  const indent = indentOf(lines[0]!);
  if (indent === 0) return undefined;
  const content: string[] = [];
  for (const line of lines) {
    if (indentOf(line) !== indent || line.length === indent) return undefined;
    content.push(line.slice(indent));
  }
  const text = content.join(sign[0] === '|' ? '\n' : ' ');
  return sign.endsWith('-') ? text : `${text}\n`;
}

const indentOf = (line: string): number => /^ */.exec(line)![0].length;

/** YAML's blanks only: other spaces of Unicode belong to the text. */
const withoutBlanks = (text: string): string => text.replace(/^ +/, '').replace(/ +$/, '');
