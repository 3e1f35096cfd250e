import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode } from '../../src/skills/decode.ts';

const utf16 = (text: string, order: 'le' | 'be'): Buffer => {
  const bytes = Buffer.from(text, 'utf16le');
  return order === 'le' ? bytes : bytes.swap16();
};

describe('decode', () => {
  it('reads UTF-8 with and without a byte order mark', () => {
    expect(decode(Buffer.from('---\nä 中 🎯'))).toEqual({ text: '---\nä 中 🎯', encoding: 'utf-8', lossy: false });
    expect(decode(Buffer.from('\uFEFF---\n')).text).toBe('---\n');
  });

  it.each(['le', 'be'] as const)('reads UTF-16 %s by its mark, and without one by its dashes', (order) => {
    for (const mark of ['\uFEFF', '']) {
      const decoded = decode(utf16(`${mark}---\nname: 翻译\n---\n🎯`, order));
      expect(decoded).toEqual({ text: '---\nname: 翻译\n---\n🎯', encoding: `utf-16${order}`, lossy: false });
    }
  });

  it('reads GB18030 when the bytes are no UTF-8', () => {
    // "翻译" in GB18030
    const bytes = Buffer.concat([
      Buffer.from('---\nname: '),
      Buffer.from([0xb7, 0xad, 0xd2, 0xeb]),
      Buffer.from('\n---\n'),
    ]);
    expect(decode(bytes)).toEqual({ text: '---\nname: 翻译\n---\n', encoding: 'gb18030', lossy: false });
  });

  it('keeps good UTF-8 readable around a broken byte', () => {
    const bytes = Buffer.concat([Buffer.from('ä中文 '), Buffer.from([0xff]), Buffer.from(' end')]);
    expect(decode(bytes)).toEqual({ text: 'ä中文 \uFFFD end', encoding: 'utf-8', lossy: true });
  });

  it('never throws and always gives well-formed text', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => decode(bytes).text.isWellFormed()));
  });
});
