import fc from 'fast-check';
import { expect, it } from 'vitest';
import { byteLength } from '../../src/core/text.ts';
import { clip } from '../../src/middleware/clipping.ts';

it('says at which character to read on, so that nothing between head and tail is lost', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 900, maxLength: 1_200 });
  fc.assert(
    fc.property(text, (whole) => {
      const clipped = clip(whole, 800, (offset) => `[read on at ${offset}]`);
      const [, head, offset, tail] = /^([\s\S]*)\n\[read on at (\d+)\]\n([\s\S]*)$/.exec(clipped) ?? [];
      expect(byteLength(clipped)).toBeLessThanOrEqual(800);
      expect(head).toBe(whole.slice(0, Number(offset)));
      expect(head?.length).toBeGreaterThan(0);
      expect(whole.endsWith(tail ?? '?')).toBe(true);
    }),
  );
});
