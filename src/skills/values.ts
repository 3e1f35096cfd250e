import type { Value } from './front-matter.ts';
import { splitList, withoutBrackets } from './lists.ts';

/** What an author wrote for a key: nothing, something that cannot be read, or a value. */
export type Reading<T> = { is: 'unset' } | { is: 'unreadable' } | { is: 'set'; value: T };

const UNSET = { is: 'unset' } as const;
const UNREADABLE = { is: 'unreadable' } as const;
const set = <T>(value: T): Reading<T> => ({ is: 'set', value });

/** Empty, or the ways in which YAML writes that there is nothing. */
export const isNothing = (text: string): boolean => /^(?:|~|null)$/i.test(text.trim());

/** `true`, `yes`, `1`, `on` and their opposites. */
export function readFlag(value: Value): Reading<boolean> {
  if (typeof value !== 'string') return UNREADABLE;
  const text = value.trim().toLowerCase();
  if (isNothing(text)) return UNSET;
  if (['true', 'yes', 'y', '1', 'on'].includes(text)) return set(true);
  if (['false', 'no', 'n', '0', 'off'].includes(text)) return set(false);
  return UNREADABLE;
}

/** A word out of a few; dashes, underscores, blanks and case do not matter. */
export function readChoice<T extends string>(value: Value, choices: Record<string, T>): Reading<T> {
  if (typeof value !== 'string') return UNREADABLE;
  if (isNothing(value)) return UNSET;
  const choice = new Map(Object.entries(choices)).get(value.replace(/[-_\s]/g, '').toLowerCase());
  return choice === undefined ? UNREADABLE : set(choice);
}

const NO_LIMIT = /^(?:none|unlimited|infinite|infinity|inf)$/i;

/** A whole number from `least` up: `50`, `1_000`, `50k`, `2M`. */
export function readCount(value: Value, least: number): Reading<number> {
  return readNumber(value, (text) => {
    const match = /^(\d[\d_,]*(?:\.\d+)?)([km]?)$/i.exec(text);
    if (match === null) return Number.NaN;
    const factor = { '': 1, k: 1_000, m: 1_000_000 }[match[2]!.toLowerCase()]!;
    const count = Math.round(Number(match[1]!.replace(/[_,]/g, '')) * factor);
    return count >= least ? count : Number.NaN;
  });
}

/** An amount from 0 up, with or without a currency: `0.50`, `$2`, `1.5 USD`. */
export function readMoney(value: Value): Reading<number> {
  return readNumber(value, (text) => {
    const match = /^[$€£¥]?[ ]*(\d[\d_]*(?:\.\d+)?)[ ]*(?:[$€£¥]|[A-Z]{3})?$/i.exec(text);
    return match === null ? Number.NaN : Number(match[1]!.replace(/_/g, ''));
  });
}

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const UNIT = /(\d+(?:\.\d+)?)[ ]*(ms|s|m|h|d)[a-z]*[ ]*/gi;

/** Milliseconds of `30s`, `5m`, `1h30m`, `500ms`; a bare number counts seconds. */
export function readDuration(value: Value): Reading<number> {
  return readNumber(value, (text) => {
    if (/^\d+(?:\.\d+)?$/.test(text)) return positive(Number(text) * 1_000);
    if (text.replace(UNIT, '') !== '') return Number.NaN;
    let total = 0;
    for (const [, amount, unit] of text.matchAll(UNIT)) total += Number(amount) * UNIT_MS[unit!.toLowerCase()]!;
    return positive(total);
  });
}

const positive = (amount: number): number => (amount > 0 ? Math.round(amount) : Number.NaN);

function readNumber(value: Value, parse: (text: string) => number): Reading<number> {
  if (typeof value !== 'string') return UNREADABLE;
  const text = value.trim();
  if (isNothing(text) || NO_LIMIT.test(text)) return UNSET;
  const number = parse(text);
  return Number.isFinite(number) ? set(number) : UNREADABLE;
}

/** A list in any spelling. Items that are no text make it unreadable. */
export function readList(value: Value, separators: 'commas' | 'commas-and-blanks'): Reading<string[]> {
  if (typeof value === 'string') {
    return isNothing(value) ? UNSET : set(splitList(withoutBrackets(value), separators));
  }
  if (!Array.isArray(value)) return UNREADABLE;
  const items: string[] = [];
  for (const item of value) {
    if (typeof item !== 'string') return UNREADABLE;
    items.push(...splitList(item, separators));
  }
  return set(items);
}

/** Names of arguments: a list, or the `name`s of entries, or the keys of a mapping. */
export function readParameters(value: Value): Reading<string[]> {
  if (Array.isArray(value)) {
    const names = value.map((item) => (typeof item === 'object' && !Array.isArray(item) ? (item.name ?? '') : item));
    return readList(names, 'commas-and-blanks');
  }
  if (typeof value === 'object') return set(Object.keys(value));
  return readList(value, 'commas-and-blanks');
}
