import { ReasonixError } from '../core/errors.ts';
import { prompt } from '../core/prompts.ts';
import { byteLength } from '../core/text.ts';
import { readNamed } from './argument-words.ts';

/** Largest argument text, in bytes of UTF-8. */
export const ARGUMENTS_LIMIT = 64 * 1024;

export interface RenderedBody {
  text: string;
  /** Whether placeholders took in all that was given, so that it need not be shown again. */
  used: boolean;
}

/**
 * Fills the placeholders of a body: `<<arguments>>`, `{{arguments}}` (either also in capitals) and
 * `$ARGUMENTS` with the text as given, and `<<name>>` of a declared name with its value from a JSON
 * object or from `key=value` words; without a value, with nothing. One pass, values literally. A
 * backslash right before a placeholder goes away and the placeholder stays. No other byte changes:
 * `$ARGUMENTS_X`, `$ARGUMENTS[0]`, `$1` and `{{ name }}` are no placeholders.
 * @throws ReasonixError `skill_invalid` for arguments over 64 KiB.
 */
export function renderBody(
  body: string,
  options: { arguments?: string | null | undefined; names?: readonly string[] | undefined } = {},
): RenderedBody {
  const given = options.arguments ?? '';
  checkSize(given);
  const names = (options.names ?? []).filter((name) => !WHOLE.has(name));
  const named = readNamed(given, names);
  const filled = new Set<string>();
  let whole = false;
  const text = body.replace(placeholders(names), (found: string, slash: string, name: string | undefined) => {
    if (slash !== '') return found.slice(slash.length);
    if (name === undefined || WHOLE.has(name)) {
      whole = true;
      return given;
    }
    filled.add(name);
    return named.values.get(name) ?? '';
  });
  const allFilled = filled.size > 0 && named.complete && [...named.values.keys()].every((name) => filled.has(name));
  return { text, used: whole || allFilled };
}

const WHOLE: ReadonlySet<string> = new Set(['arguments', 'ARGUMENTS']);

function placeholders(names: readonly string[]): RegExp {
  const inBrackets = [...WHOLE, ...names].map(escapePattern).join('|');
  return new RegExp(
    `(\\\\?)(?:<<(${inBrackets})>>|\\{\\{(?:arguments|ARGUMENTS)\\}\\}|\\$ARGUMENTS(?![A-Za-z0-9_]|\\[\\d))`,
    'g',
  );
}

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

function checkSize(given: string): void {
  const size = byteLength(given);
  if (size <= ARGUMENTS_LIMIT) return;
  throw new ReasonixError('skill_invalid', `the arguments have ${size} bytes; at most ${ARGUMENTS_LIMIT} fit`, {
    hint: prompt('arguments-too-long'),
  });
}
