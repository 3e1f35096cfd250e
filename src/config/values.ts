import { resolve } from 'node:path';
import type { ConfigValue, KeySpec } from './key-spec.ts';
import { maskAddresses } from './mask.ts';

export type Parsed = { ok: true; value: ConfigValue } | { ok: false; expected: string; found: string };

const BOOLEANS = new Map([
  ...['true', '1', 'on', 'yes'].map((text) => [text, true] as const),
  ...['false', '0', 'off', 'no'].map((text) => [text, false] as const),
]);
const DURATION_UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const BYTE_UNITS: Record<string, number> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** A boolean written in any of the accepted ways. */
export const parseBoolean = (text: string): boolean | undefined => BOOLEANS.get(text.trim().toLowerCase());

/** Milliseconds of `90s`, `1h30m`, `500ms`; a bare number is seconds. */
export function parseDuration(text: string): number | undefined {
  const trimmed = text.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.round(Number(trimmed) * 1000);
  if (!/^(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$/.test(trimmed)) return undefined;
  let total = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)/g)) {
    total += Number(amount) * DURATION_UNITS[unit!]!;
  }
  return Math.round(total);
}

/** Bytes of `16384`, `16 KiB`, `1M`; the units are powers of 1,024. */
function parseBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(?:(b)|([kmg])(?:i?b)?)?$/.exec(text.trim().toLowerCase());
  if (!match) return undefined;
  return Math.round(Number(match[1]) * BYTE_UNITS[match[3] ?? '']!);
}

/** `a, b(c, d)` → `['a', 'b(c, d)']`; text that starts with `[` is read as a JSON array. */
export function parseList(text: string): string[] | undefined {
  const trimmed = text.trim();
  if (trimmed.startsWith('[') && trimmed.endsWith(']')) {
    try {
      const items = JSON.parse(trimmed) as unknown;
      if (isStringList(items)) return items.filter((item) => item !== '');
    } catch {
      // A glob such as [ab]* is no JSON: it is split like any other text.
    }
  }
  const items: string[] = [];
  let depth = 0;
  let item = '';
  for (const character of trimmed) {
    if ('([{'.includes(character)) depth++;
    else if (')]}'.includes(character)) depth = Math.max(0, depth - 1);
    if (character === ',' && depth === 0) {
      items.push(item.trim());
      item = '';
    } else item += character;
  }
  items.push(item.trim());
  return items.filter((entry) => entry !== '');
}

const isStringList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Reads a value that came as text: environment, command line, SCORPIOX file. Never called with empty text. */
export function parseText(spec: KeySpec, text: string): Parsed {
  return check(spec, fromText(spec, text.trim()), () => show(spec, text));
}

function fromText(spec: KeySpec, text: string): ConfigValue | undefined {
  switch (spec.type) {
    case 'boolean':
      return parseBoolean(text);
    case 'integer':
      return /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
    case 'number':
      return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
    case 'duration':
      return parseDuration(text);
    case 'bytes':
      return parseBytes(text);
    case 'list':
    case 'paths':
      return parseList(text);
    case 'string':
    case 'path':
      return text;
  }
}

/** Reads a value that came from TOML. */
export function parseTyped(spec: KeySpec, raw: unknown): Parsed {
  return check(spec, fromTyped(spec, raw), () => show(spec, raw));
}

function fromTyped(spec: KeySpec, raw: unknown): ConfigValue | undefined {
  switch (spec.type) {
    case 'boolean':
      if (typeof raw === 'string') return parseBoolean(raw);
      return raw === 1 || raw === 0 ? raw === 1 : typeof raw === 'boolean' ? raw : undefined;
    case 'integer':
    case 'number':
      return typeof raw === 'number' ? raw : undefined;
    case 'duration':
      return typeof raw === 'number' ? raw * 1000 : typeof raw === 'string' ? parseDuration(raw) : undefined;
    case 'bytes':
      return typeof raw === 'number' ? raw : typeof raw === 'string' ? parseBytes(raw) : undefined;
    case 'list':
    case 'paths':
      return isStringList(raw) ? raw.filter((item) => item.trim() !== '') : undefined;
    case 'string':
    case 'path':
      return typeof raw === 'string' ? raw.trim() : undefined;
  }
}

function check(spec: KeySpec, value: ConfigValue | undefined, found: () => string): Parsed {
  if (value === undefined || !fits(spec, value)) return { ok: false, expected: expectation(spec), found: found() };
  return { ok: true, value };
}

function fits(spec: KeySpec, value: ConfigValue): boolean {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || value < (spec.min ?? -Infinity) || value > (spec.max ?? Infinity)) return false;
    return spec.type === 'number' || Number.isSafeInteger(value);
  }
  if (typeof value !== 'string') return true;
  if (spec.choices && !spec.choices.includes(value)) return false;
  if (spec.format === 'url') return /^https?:$/.test(URL.canParse(value) ? new URL(value).protocol : '');
  if (spec.format === 'variable') return /^[A-Za-z_][A-Za-z0-9_]*$/.test(value);
  if (spec.format === 'profile') return isProfileName(value);
  return true;
}

/** At most 64 characters, and nothing that could lead out of the folder of profiles. */
export const isProfileName = (name: string): boolean =>
  /^[^\s/\\\p{Cc}]{1,64}$/u.test(name) && !name.includes('..') && name !== '.';

/** What a value of this key looks like, for messages and documentation. */
export function expectation(spec: KeySpec): string {
  if (spec.choices) return `one of ${spec.choices.join(', ')}`;
  if (spec.format === 'url') return 'an http or https address';
  if (spec.format === 'variable') return 'the name of an environment variable';
  if (spec.format === 'profile') return 'the name of a profile: at most 64 characters, no blanks, slashes or ".."';
  switch (spec.type) {
    case 'boolean':
      return 'true or false (also 1/0, on/off, yes/no)';
    case 'integer':
      return `a whole number${range(spec)}`;
    case 'number':
      return `a number${range(spec)}`;
    case 'duration':
      return `a duration such as "90s" or "5m" (a bare number is seconds)${least(spec)}`;
    case 'bytes':
      return `a size such as 16384 or "16 KiB"${spec.min ? `, at least ${spec.min} bytes` : ''}`;
    case 'list':
      return 'a list of texts';
    case 'paths':
      return 'a list of paths';
    case 'path':
      return 'a path';
    case 'string':
      return 'a text';
  }
}

function least({ min = 0, minWhy }: KeySpec): string {
  if (min <= 0) return '';
  const bound = min === 1 ? 'more than 0' : `at least ${min % 1000 === 0 ? `${min / 1000}s` : `${min}ms`}`;
  return `, ${bound}${minWhy === undefined ? '' : `: ${minWhy}`}`;
}

function range(spec: KeySpec): string {
  if (spec.min !== undefined && spec.max !== undefined) return ` from ${spec.min} to ${spec.max}`;
  return spec.min === undefined ? '' : `, at least ${spec.min}`;
}

/** Somebody who puts a key where its variable's name belongs must not find it in a log. */
function show(spec: KeySpec, raw: unknown): string {
  if (spec.secret || spec.format === 'variable') return 'something else';
  const text = maskAddresses(raw instanceof Date ? 'a date' : (JSON.stringify(raw) ?? String(raw)));
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** `~` and `~/…` stand for `home`; what is relative starts at `base`. */
export function expandPath(path: string, base: string, home: string): string {
  if (path === '~') return home;
  return /^~[/\\]/.test(path) ? resolve(home, path.slice(2)) : resolve(base, path);
}

/** A parsed value with its paths made absolute. */
export function absolutePaths(spec: KeySpec, value: ConfigValue, base: string, home: string): ConfigValue {
  if (spec.type === 'path') return expandPath(value as string, base, home);
  if (spec.type !== 'paths') return value;
  // What a variable stands for may be absolute; the library of skills puts values in, and reports those that are unset.
  const isOpen = (path: string): boolean => spec.variables === true && path.startsWith('${');
  return (value as string[]).map((path) => (isOpen(path) ? path : expandPath(path, base, home)));
}
