export interface NamedArguments {
  /** Values of declared names that were given one. */
  values: Map<string, string>;
  /** Whether the values hold all of the text: no other word, no other key. */
  complete: boolean;
}

/**
 * Values of declared names: of a JSON object, else of `key=value` words. Quotes around a value keep its
 * blanks, and `\"` and `\\` in double quotes stand for the sign. The last value of a name counts.
 */
export function readNamed(given: string, names: readonly string[]): NamedArguments {
  const named: NamedArguments = { values: new Map(), complete: true };
  if (names.length === 0) return named;
  const known = new Set(names);
  for (const [key, value] of jsonEntries(given) ?? wordEntries(given)) {
    if (key !== undefined && known.has(key)) named.values.set(key, value);
    else named.complete = false;
  }
  return named;
}

type Entry = [key: string | undefined, value: string];

function jsonEntries(text: string): Entry[] | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return Object.entries(JSON.parse(text) as Record<string, unknown>).map(([key, value]) => [key, textOf(value)]);
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Quotes count at the start of a word or of a value, so that the one in `don't` does not. */
function* wordEntries(text: string): Generator<Entry> {
  let at = 0;
  while (at < text.length) {
    if (isBlank(text, at)) {
      at++;
      continue;
    }
    const start = at;
    let key: string | undefined;
    let value = '';
    while (at < text.length && !isBlank(text, at)) {
      const sign = text[at]!;
      const opensValue = at === start || (key !== undefined && value === '' && text[at - 1] === '=');
      const quoted = (sign === '"' || sign === "'") && opensValue ? readQuoted(text, at) : undefined;
      if (quoted) {
        value += quoted.text;
        at = quoted.next;
        continue;
      }
      at++;
      if (sign === '=' && key === undefined && value !== '') {
        key = value;
        value = '';
      } else value += sign;
    }
    yield [key, value];
  }
}

const isBlank = (text: string, at: number): boolean => /\s/.test(text[at]!);

/** A quote that nothing closes is a sign like any other; there can be one such search a kind, so it costs no more. */
function readQuoted(text: string, open: number): { text: string; next: number } | undefined {
  const quote = text[open]!;
  let value = '';
  for (let at = open + 1; at < text.length; at++) {
    const sign = text[at]!;
    if (sign === quote) return { text: value, next: at + 1 };
    const next = text[at + 1];
    if (quote === '"' && sign === '\\' && (next === '"' || next === '\\')) {
      value += next;
      at++;
    } else value += sign;
  }
  return undefined;
}
