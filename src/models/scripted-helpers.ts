import { clipStart } from '../core/text.ts';
import type { TemplateValue } from './scripted-template.ts';

type Helper = (
  value: NonNullable<TemplateValue>,
  parameters: readonly TemplateValue[],
  isMissing: boolean,
) => TemplateValue;

/**
 * The helpers of the scripted model's templates. A text that is asked for items is its non-empty
 * lines; a list that is asked for text is its items, one a line.
 */
export const HELPERS: Readonly<Record<string, Helper>> = {
  default: (value, [fallback], isMissing) => (isMissing ? fallback : value),

  // Picking text.
  match: (value, [pattern, group]) => {
    const match = regex(pattern).exec(text(value));
    if (!match) return undefined;
    return group === undefined ? (match[1] ?? match[0]) : match[number(group)];
  },
  match_all: (value, [pattern, group]) =>
    Array.from(text(value).matchAll(regex(pattern, 'g')), (match) =>
      group === undefined ? (match[1] ?? match[0]) : (match[number(group)] ?? ''),
    ),
  json: (value, [path]) => jsonPath(text(value), path === undefined ? '' : text(path)),
  answer: (value) => (Array.isArray(value) ? value.map(childAnswer) : childAnswer(text(value))),
  split: (value, [separator]) =>
    text(value)
      .split(text(separator ?? ','))
      .map((part) => part.trim()),
  lines: (value) => items(value),
  number: (value) => numbersIn(value)[0],
  numbers: (value) => numbersIn(value).map(String),

  // Choosing items.
  grep: (value, [pattern]) => items(value).filter((item) => regex(pattern).test(item)),
  reject: (value, [pattern]) => items(value).filter((item) => !regex(pattern).test(item)),
  first: (value, [count]) => (count === undefined ? items(value)[0] : items(value).slice(0, number(count))),
  last: (value, [count]) => (count === undefined ? items(value).at(-1) : items(value).slice(-number(count))),
  at: (value, [index]) => items(value).at(number(index)),
  unique: (value) => [...new Set(items(value))],
  sort: (value) => items(value).sort(byNumberThenText),
  reverse: (value) => items(value).reverse(),

  // Counting.
  count: (value, [pattern]) =>
    pattern === undefined ? items(value).length : [...text(value).matchAll(regex(pattern, 'g'))].length,
  count_by: (value, [pattern, separator]) => countBy(items(value), regex(pattern ?? '^.*$'), text(separator ?? ': ')),
  length: (value) => text(value).length,
  sum: (value) => rounded(numbersIn(value).reduce((total, each) => total + each, 0)),
  max: (value) => extreme(value, Math.max),
  min: (value) => extreme(value, Math.min),
  add: (value, [other]) => rounded(number(value) + number(other)),
  sub: (value, [other]) => rounded(number(value) - number(other)),
  mul: (value, [other]) => rounded(number(value) * number(other)),
  div: (value, [other]) => rounded(number(value) / number(other)),
  round: (value, [digits]) => Number(number(value).toFixed(digits === undefined ? 0 : number(digits))),

  // Shaping.
  join: (value, [separator]) => items(value).join(text(separator ?? ', ')),
  prefix: (value, [before]) => each(value, (item) => text(before) + item),
  suffix: (value, [after]) => each(value, (item) => item + text(after)),
  replace: (value, [pattern, by]) => each(value, (item) => item.replace(regex(pattern, 'g'), () => text(by ?? ''))),
  trim: (value) => each(value, (item) => item.trim()),
  upper: (value) => each(value, (item) => item.toUpperCase()),
  lower: (value) => each(value, (item) => item.toLowerCase()),
  clip: (value, [limit]) => clipStart(text(value), number(limit)),
};

function text(value: TemplateValue): string {
  if (value === undefined) throw new Error('a parameter is missing or found nothing');
  return Array.isArray(value) ? value.join('\n') : String(value);
}

function items(value: NonNullable<TemplateValue>): string[] {
  if (Array.isArray(value)) return [...value];
  return String(value)
    .split('\n')
    .filter((line) => line.trim() !== '');
}

function each(value: NonNullable<TemplateValue>, change: (item: string) => string): string | string[] {
  return Array.isArray(value) ? value.map(change) : change(String(value));
}

function number(value: TemplateValue): number {
  const found = Array.isArray(value) ? Number.NaN : Number(text(value).trim() || Number.NaN);
  if (Number.isNaN(found)) throw new Error(`${JSON.stringify(value)} is not a number`);
  return found;
}

function numbersIn(value: NonNullable<TemplateValue>): number[] {
  return Array.from(text(value).matchAll(/-?\d+(?:\.\d+)?/g), ([match]) => Number(match));
}

function extreme(value: NonNullable<TemplateValue>, choose: (...values: number[]) => number): number | undefined {
  const found = numbersIn(value);
  return found.length === 0 ? undefined : choose(...found);
}

/** Decimal fractions as people write them: 0.1 + 0.2 is 0.3. */
const rounded = (value: number): number => Number(value.toPrecision(12));

/** `/…/flags` or the pattern itself; lines are lines. */
function regex(pattern: TemplateValue, flags = ''): RegExp {
  const source = text(pattern);
  const delimited = /^\/(.*)\/([a-z]*)$/s.exec(source);
  const all = new Set([...flags, 'm', ...(delimited?.[2] ?? '')]);
  return new RegExp(delimited?.[1] ?? source, [...all].join(''));
}

function countBy(list: readonly string[], pattern: RegExp, separator: string): string[] {
  const counts = new Map<string, number>();
  for (const item of list) {
    const match = pattern.exec(item);
    if (!match) continue;
    const key = match[1] ?? match[0];
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .sort(([leftKey, left], [rightKey, right]) => right - left || (leftKey < rightKey ? -1 : 1))
    .map(([key, count]) => `${key}${separator}${count}`);
}

function byNumberThenText(left: string, right: string): number {
  const difference = Number.parseFloat(left) - Number.parseFloat(right);
  if (!Number.isNaN(difference) && difference !== 0) return difference;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** `a.b.0` in JSON text; no path is the whole. Objects come out as JSON, lists as lists. */
function jsonPath(source: string, path: string): TemplateValue {
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    return undefined;
  }
  for (const key of path.split('.').filter(Boolean)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (Array.isArray(value)) return value.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
  return JSON.stringify(value);
}

/** A sub-agent's answer without the lines above it. */
function childAnswer(result: string): string {
  return result.startsWith('Subagent reference:') ? result.split('\n\n').slice(1).join('\n\n').trim() : result;
}
