import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance } from '../../src/core/edit-distance.ts';
import { compareCodePoints, isOrdinaryName, nearestNames, sortedByCodePoint } from '../../src/skills/names.ts';
import { processorTime } from '../helpers/processor-time.ts';

describe('names', () => {
  it('measures edits, a swap of neighbours as one', () => {
    expect(editDistance('kitten', 'sitting')).toBe(3);
    expect(editDistance('reserach', 'research')).toBe(1);
    expect(editDistance('', 'abc')).toBe(3);
    fc.assert(
      fc.property(
        fc.string({ maxLength: 8 }),
        fc.string({ maxLength: 8 }),
        (a, b) => editDistance(a, b) === editDistance(b, a),
      ),
    );
  });

  it('finds the nearest, ties by code point', () => {
    const names = ['deploy', 'deploy-web', 'review', 'research', 'a', 'b'];
    expect(nearestNames('reserach', names)[0]).toBe('research');
    expect(nearestNames('deploy-we', names).slice(0, 2)).toEqual(['deploy-web', 'deploy']);
    expect(nearestNames('c', ['b', 'a', 'd'])).toEqual(['a', 'b', 'd']);
    expect(nearestNames('x', [])).toEqual([]);
    const started = processorTime();
    nearestNames(
      'z'.repeat(100_000),
      Array.from({ length: 20_000 }, (_, at) => `skill-${at}`),
    );
    expect(processorTime() - started).toBeLessThan(2_000);
  });

  it('orders by code point on every path', () => {
    const points = (text: string): number[] => [...text].map((sign) => sign.codePointAt(0)!);
    const expected = (a: string, b: string): number => {
      const [left, right] = [points(a), points(b)];
      const at = left.findIndex((point, index) => point !== right[index]);
      return at < 0 ? left.length - right.length : right[at] === undefined ? 1 : left[at]! - right[at];
    };
    const names = fc.array(fc.string({ unit: 'grapheme', maxLength: 4 }), { maxLength: 8 });
    fc.assert(
      fc.property(names, (list) => {
        const sorted = sortedByCodePoint(list, (name) => name);
        expect(sorted).toEqual([...list].sort(expected));
        expect(sorted).toEqual([...list].sort(compareCodePoints));
      }),
    );
  });

  it('lets new skills have ordinary names only', () => {
    for (const name of ['a', 'x.y_z-1', '翻译', 'é'.normalize('NFC')]) expect(isOrdinaryName(name)).toBe(true);
    for (const name of ['', ' a', 'a b', 'a/b', '..', '-a', 'a:b', 'é'.normalize('NFD'), 'n'.repeat(65), 'a\u200B']) {
      expect(isOrdinaryName(name), name).toBe(false);
    }
  });
});
