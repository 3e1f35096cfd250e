import type { ToolImage } from '../core/messages.ts';
import { prompt } from '../core/prompts.ts';
import { clipGraphemes, oneLine } from '../core/text.ts';

/** Pictures of one result. */
const MOST_IMAGES = 5;

/** Bytes of one picture; providers refuse larger ones. */
export const LARGEST_IMAGE = 5 * 1024 * 1024;

/** Characters of base64 that hold the first bytes of a file. */
const SIGNATURE = 24;

/** Most that is shown of a type that is none, in graphemes. */
const LONGEST_TYPE = 60;

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

/** The pictures of a result that may be kept, and a line for each that may not; past some of them one for the rest. */
export function boundedImages(images: readonly ToolImage[]): { images: ToolImage[]; notes: string[] } {
  const kept: ToolImage[] = [];
  const notes: string[] = [];
  const leaveOut = (number: number | string, problem: string) =>
    notes.push(prompt('image-left-out', { number, problem }));
  for (const [index, { mediaType, data }] of images.entries()) {
    if (notes.length === MOST_IMAGES) {
      leaveOut(`${index + 1}-${images.length}`, TOO_MANY);
      break;
    }
    // Providers refuse a picture that is not what its type says, and with it each request from then on.
    const image = { mediaType: imageTypeOf(Buffer.from(data.slice(0, SIGNATURE), 'base64')) ?? '', data };
    const problem = problemOf(image, mediaType, kept.length);
    if (problem === undefined) kept.push(image);
    else leaveOut(index + 1, problem);
  }
  return { images: kept, notes };
}

const TOO_MANY = `a result holds at most ${MOST_IMAGES}`;

function problemOf({ mediaType, data }: ToolImage, said: string, before: number): string | undefined {
  const type = clipGraphemes(oneLine(said), LONGEST_TYPE);
  if (mediaType === '' && !MEDIA_TYPES.has(said)) return `${type} is not one of ${[...MEDIA_TYPES].join(', ')}`;
  const bytes = Math.floor((data.length * 3) / 4);
  if (bytes > LARGEST_IMAGE + 2) return `${bytes} bytes are more than ${LARGEST_IMAGE}`;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return 'it is not base64';
  if (mediaType === '') return `its data is no ${type}`;
  return before >= MOST_IMAGES ? TOO_MANY : undefined;
}
