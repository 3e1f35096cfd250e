import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { byteLength } from '../core/text.ts';
import { defineTool, type Tool, type ToolOutcome } from './define-tool.ts';
import { imageTypeOf, LARGEST_IMAGE } from './images.ts';
import { memo } from './memo.ts';
import { decoderOf, SAMPLE_BYTES, sniff, type TextEncoding } from './text-file.ts';
import { problem } from './tool-problem.ts';
import type { Workspace } from './workspace.ts';

const DEFAULT_LINES = 2_000;
/** Below the size at which results are clipped in the middle: a file is better cut at a line. */
const MAX_BYTES = 30_000;
/** A line this long is cut: it is read into memory whole. */
const MAX_LINE = 1024 * 1024;
/** A file is read to its end to count its lines up to this size. */
const COUNTED_BYTES = 16 * 1024 * 1024;

interface ReadInput {
  path: string;
  offset?: number | undefined;
  limit?: number | undefined;
}

const schemaOf = memo((parameters: Record<string, string>) =>
  z.object({
    path: z.string(),
    offset: z
      .number()
      .optional()
      .describe(parameters.offset ?? ''),
    limit: z
      .number()
      .optional()
      .describe(parameters.limit ?? ''),
  }),
);

/**
 * Reads a text file, or some lines of it, as it is: no line numbers, so that `edit_file` can copy from it.
 * A picture is handed over as one.
 */
export function readFileTool(workspace: Workspace): Tool<ReadInput> {
  const { description, parameters } = toolPrompt('read_file');
  return defineTool({
    name: 'read_file',
    description,
    input: schemaOf(parameters),
    effects: 'read',
    subject: ({ path }) => workspace.subject(path),
    async execute({ path, offset, limit }, { signal, scratch }) {
      const { handle, size } = await workspace.withScratch(scratch).open(path);
      try {
        const first = Math.max(1, Math.floor(offset ?? 1));
        const count = Math.max(1, Math.floor(limit ?? DEFAULT_LINES));
        return await readLines(handle, { path, size, first, count, signal });
      } finally {
        await handle.close();
      }
    },
  });
}

interface Wanted {
  path: string;
  size: number;
  /** From 1. */
  first: number;
  count: number;
  signal: AbortSignal;
}

async function readLines(handle: FileHandle, wanted: Wanted): Promise<ToolOutcome | string> {
  const { path, size, first, count } = wanted;
  if (size === 0) return `[${path} is empty]`;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(SAMPLE_BYTES, size)), 0, undefined, 0);
  const sample = buffer.subarray(0, bytesRead);
  const mediaType = imageTypeOf(sample);
  if (mediaType !== undefined) return readImage(handle, { path, size, mediaType });
  const encoding = sniff(sample, bytesRead >= size);
  if (encoding === 'binary') {
    throw problem('binary', { path, size });
  }
  const lines: string[] = [];
  let bytes = 0;
  let full = false;
  let number = 0;
  let cut = false;
  const seen = await eachLine(handle, encoding, wanted.signal, (line, wasCut) => {
    number++;
    if (number < first || full) return full && size > COUNTED_BYTES ? 'stop' : 'go on';
    const length = byteLength(line);
    if (lines.length >= count || (lines.length > 0 && bytes + length > MAX_BYTES)) {
      full = true;
    } else {
      lines.push(line);
      bytes += length;
      cut ||= wasCut;
    }
    return full && size > COUNTED_BYTES ? 'stop' : 'go on';
  });
  if (lines.length === 0) throw problem('past-the-end', { path, lines: number, offset: first });
  const last = first + lines.length - 1;
  const notes: string[] = [];
  if (encoding !== 'utf-8') notes.push(`decoded from ${encoding}`);
  if (cut) notes.push(`a line longer than ${MAX_LINE} characters is cut`);
  if (first > 1 || full) notes.push(`lines ${first}-${last} of ${seen === 'stopped' ? 'many' : number}`);
  if (full) notes.push(`go on with offset ${last + 1}`);
  const text = lines.join('');
  if (notes.length === 0) return text;
  return `${text}${text.endsWith('\n') ? '' : '\n'}[${notes.join('; ')}]`;
}

async function readImage(
  handle: FileHandle,
  { path, size, mediaType }: { path: string; size: number; mediaType: string },
): Promise<ToolOutcome> {
  if (size > LARGEST_IMAGE) throw problem('image-too-large', { path, size, limit: LARGEST_IMAGE });
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
  const data = buffer.subarray(0, bytesRead).toString('base64');
  return { content: `[${path}: ${mediaType}, ${bytesRead} bytes]`, images: [{ mediaType, data }] };
}

/** Calls `take` with every line, its end included, without holding more than one of them. */
async function eachLine(
  handle: FileHandle,
  encoding: TextEncoding,
  signal: AbortSignal,
  take: (line: string, wasCut: boolean) => 'go on' | 'stop',
): Promise<'ended' | 'stopped'> {
  const decode = decoderOf(encoding);
  const chunk = Buffer.alloc(SAMPLE_BYTES);
  let position = 0;
  let pieces: string[] = [];
  let length = 0;
  let cut = false;
  const keep = (piece: string): void => {
    const room = MAX_LINE - length;
    if (piece.length > room) cut = true;
    if (room > 0) pieces.push(piece.length > room ? piece.slice(0, room).toWellFormed() : piece);
    length += piece.length;
  };
  const flush = (): 'go on' | 'stop' => {
    const line = pieces.join('');
    const wasCut = cut;
    pieces = [];
    length = 0;
    cut = false;
    return take(wasCut && !line.endsWith('\n') ? `${line}\n` : line, wasCut);
  };
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    position += bytesRead;
    const text = decode(chunk.subarray(0, bytesRead), bytesRead === 0);
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      keep(text.slice(from, end + 1));
      from = end + 1;
      if (flush() === 'stop') return 'stopped';
    }
    if (from < text.length) keep(text.slice(from));
    if (bytesRead === 0) break;
  }
  if (length > 0) flush();
  return 'ended';
}
