import { isObject } from '../core/is-object.ts';

/**
 * The arguments of a call, mended when they are no JSON and only one reading of them is possible: a code
 * fence around them, control characters in a text, a comma before a closing bracket, brackets that are
 * missing at the end or are one too many. Anything else stays as it is and is answered as a bad call: a
 * guess could do something that nobody asked for.
 */
export function repairArguments(text: string): string {
  if (text.trim() === '' || isJson(text)) return text;
  const mended = mend(unfenced(text));
  return mended !== undefined && isJson(mended) ? mended : text;
}

/** True for a text that is a whole JSON object, or a JSON text that holds one. */
export function isObjectText(text: string): boolean {
  const value = parsed(text);
  const unwrapped = typeof value === 'string' ? parsed(value) : value;
  return isObject(unwrapped);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isJson = (text: string): boolean => parsed(text) !== undefined;

function unfenced(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text;
}

const CLOSING: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

/** One pass over the text. Undefined where more than one reading is left: inside a text, after a colon or comma. */
function mend(text: string): string | undefined {
  const pieces: string[] = [];
  const open: string[] = [];
  let inText = false;
  /** The newest sign that is no blank, and where it stands in `pieces`. */
  let last = '';
  let lastAt = -1;
  for (let index = 0; index < text.length; index++) {
    const sign = text[index] ?? '';
    if (inText) {
      pieces.push(sign < ' ' ? JSON.stringify(sign).slice(1, -1) : sign);
      if (sign === '\\') pieces.push(text[++index] ?? '');
      else if (sign === '"') inText = false;
      continue;
    }
    if (sign === '}' || sign === ']') {
      if (open.length === 0) return last !== '' && /^[\s}\]]*$/.test(text.slice(index)) ? pieces.join('') : undefined;
      if (open.pop() !== sign) return undefined;
      if (last === ',') pieces[lastAt] = '';
    } else if (CLOSING[sign] !== undefined) {
      open.push(CLOSING[sign]);
    } else if (sign === '"') {
      inText = true;
    }
    if (sign.trim() !== '') {
      last = sign;
      lastAt = pieces.length;
    }
    pieces.push(sign);
  }
  // A number at the end may have been longer.
  if (inText || (open.length > 0 && !'"}]el'.includes(last))) return undefined;
  return pieces.join('') + open.reverse().join('');
}
