import { isJson } from '../core/text.ts';

/** Places in a text that are tried as the start of a JSON value; a text with more of them is no answer. */
const MOST_TRIES = 200;

/**
 * The JSON values that a text may mean, as they are written: the whole text, else what stands in fenced
 * blocks, else the objects and lists between the words. The first kind that there is any of.
 */
export function jsonInText(text: string): string[] {
  const whole = text.trim();
  if (isJson(whole)) return [whole];
  const fenced = fencedBlocks(text).filter(isJson);
  return fenced.length > 0 ? fenced : valuesInProse(text);
}

/** JSON text without the white space between its parts. Numbers and strings stay as they are written. */
export const compactJson = (json: string): string =>
  json.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, (_, quoted: string | undefined) => quoted ?? '');

function fencedBlocks(text: string): string[] {
  const blocks: string[] = [];
  let fence: string | undefined;
  let lines: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    const mark = /^\s{0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (fence === undefined) {
      fence = mark?.[1];
      lines = [];
    } else if (mark?.[1]?.startsWith(fence) && mark[2]?.trim() === '') {
      blocks.push(lines.join('\n').trim());
      fence = undefined;
    } else lines.push(line);
  }
  return blocks;
}

function valuesInProse(text: string): string[] {
  const values: string[] = [];
  let tries = 0;
  for (let at = nextOpening(text, 0); at >= 0 && tries < MOST_TRIES; tries++) {
    const end = endOfValue(text, at);
    const value = text.slice(at, end);
    const found = end > at && isJson(value);
    if (found) values.push(value);
    at = nextOpening(text, found ? end : at + 1);
  }
  return values;
}

function nextOpening(text: string, from: number): number {
  const object = text.indexOf('{', from);
  const list = text.indexOf('[', from);
  return object < 0 || list < 0 ? Math.max(object, list) : Math.min(object, list);
}

/** Where the value that opens at `start` closes, or `start` when it does not. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at);
        break;
      case '{':
      case '[':
        depth++;
        break;
      case '}':
      case ']':
        depth--;
        if (depth === 0) return at + 1;
    }
  }
  return start;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
