import { readFile } from 'node:fs/promises';
import { prompt } from '../core/prompts.ts';
import { byteLength, clipStart } from '../core/text.ts';
import { decode } from './decode.ts';
import { neutralise } from './neutralise.ts';
import type { Skill } from './types.ts';

/** Largest body that goes into a context whole, in bytes of UTF-8; the rest is read on demand. */
export const BODY_LIMIT = 100_000;

export interface BoundBody {
  /** The body, or the start of it up to a line end. */
  kept: string;
  /** What says that something is missing, and how to read it. */
  marker?: string | undefined;
}

/** A body over the limit is cut at a line, never in silence: the marker names file and line to go on from. */
export async function boundBody(skill: Skill, body: string): Promise<BoundBody> {
  if (body.length * 3 <= BODY_LIMIT) return { kept: body };
  const bytes = byteLength(body);
  if (bytes <= BODY_LIMIT) return { kept: body };
  const kept = startOf(body);
  const cutBetweenLines = body[kept.length] === '\n';
  const line = (await linesBefore(skill, body)) + countLines(kept) + (cutBetweenLines ? 2 : 1);
  const path = JSON.stringify(neutralise(skill.file));
  return { kept, marker: prompt('body-clipped', { kept: byteLength(kept), bytes, path, line }) };
}

function startOf(body: string): string {
  const room = Buffer.from(body).subarray(0, BODY_LIMIT);
  const units = new TextDecoder('utf-8', { ignoreBOM: true }).decode(room, { stream: true }).length;
  const lineEnd = body.lastIndexOf('\n', units - 1);
  // A line longer than half of the room is cut itself: its start is worth more than nothing.
  return lineEnd > units / 2 ? body.slice(0, lineEnd) : clipStart(body, units);
}

/** Lines of the front matter, which the body does not have and a reader of the file counts. */
async function linesBefore(skill: Skill, body: string): Promise<number> {
  try {
    const { text } = decode(await readFile(skill.file));
    return text.endsWith(body) ? countLines(text.slice(0, text.length - body.length)) : 0;
  } catch {
    return 0;
  }
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
