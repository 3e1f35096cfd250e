import { expect, it } from 'vitest';
import { boundedImages } from '../../src/tools/images.ts';

const PNG = 'iVBORw0KGgo=';

it('is of the type that its first bytes say, whatever the tool says', () => {
  const given = ['image/jpeg', 'image/jpg', 'application/octet-stream', 'image/png'];
  const { images, notes } = boundedImages(given.map((mediaType) => ({ mediaType, data: PNG })));
  expect(images).toEqual(given.map(() => ({ mediaType: 'image/png', data: PNG })));
  expect(notes).toEqual([]);
});

it('is left out when its bytes are those of no picture', () => {
  const page = Buffer.from('<html>not found</html>').toString('base64');
  const { images, notes } = boundedImages([
    { mediaType: 'image/png', data: page },
    { mediaType: `text/${'x'.repeat(100_000)}`, data: page },
  ]);
  expect(images).toEqual([]);
  expect(notes[0]).toBe('[image 1 is left out: its data is no image/png]');
  expect(notes[1]?.length).toBeLessThan(200);
});

it('is one of so many that a line for each would be too long', () => {
  const { images, notes } = boundedImages(Array.from({ length: 5_000 }, () => ({ mediaType: 'image/png', data: PNG })));
  expect(images).toHaveLength(5);
  expect(notes).toHaveLength(6);
  expect(notes.at(-1)).toBe('[image 11-5000 is left out: a result holds at most 5]');
});
