import type { ToolImage } from '../core/messages.ts';
import { prompt } from '../core/prompts.ts';

/** Pictures of one result. */
const MOST_IMAGES = 5;

/** Bytes of one picture; providers refuse larger ones. */
export const LARGEST_IMAGE = 5 * 1024 * 1024;

/** What every provider that takes pictures takes. */
const MEDIA_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** The first bytes of a file, by which its kind is told: names lie. */
const SIGNATURES: readonly [mediaType: string, isOne: (head: Buffer) => boolean][] = [
  ['image/png', (head) => head.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))],
  ['image/jpeg', (head) => head.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))],
  ['image/gif', (head) => /^GIF8[79]a/.test(head.toString('latin1', 0, 6))],
  ['image/webp', (head) => head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP'],
];

/** The media type of a picture that models take, by the first bytes of its file. */
export function imageTypeOf(head: Buffer): string | undefined {
  return SIGNATURES.find(([, isOne]) => isOne(head))?.[0];
}

/** The pictures of a result that may be kept, and a line for each that may not. */
export function boundedImages(images: readonly ToolImage[]): { images: ToolImage[]; notes: string[] } {
  const kept: ToolImage[] = [];
  const notes: string[] = [];
  images.forEach((image, index) => {
    const problem = problemOf(image, kept.length);
    if (problem === undefined) kept.push(image);
    else notes.push(prompt('image-left-out', { number: index + 1, problem }));
  });
  return { images: kept, notes };
}

function problemOf({ mediaType, data }: ToolImage, before: number): string | undefined {
  if (!MEDIA_TYPES.has(mediaType)) return `${mediaType} is not one of ${[...MEDIA_TYPES].join(', ')}`;
  const bytes = Math.floor((data.length * 3) / 4);
  if (bytes > LARGEST_IMAGE + 2) return `${bytes} bytes are more than ${LARGEST_IMAGE}`;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return 'it is not base64';
  return before >= MOST_IMAGES ? `a result holds at most ${MOST_IMAGES}` : undefined;
}
