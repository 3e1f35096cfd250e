import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { parseSkill } from '../../src/skills/parse.ts';
import { readSource } from '../../src/skills/read-source.ts';

const folder = mkdtempSync(join(tmpdir(), 'reasonix-source-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = join(folder, 'SKILL.md');
const place = { file, scope: 'project', root: folder, layout: 'folder' } as const;

/** What the parser makes of the file by way of `readSource`, and of its bytes. */
async function bothWays(bytes: Uint8Array) {
  writeFileSync(file, bytes);
  const source = readSource(file);
  return {
    isText: typeof source === 'string',
    read: await parseSkill(source, place),
    whole: await parseSkill(bytes, place),
  };
}

describe('the source of a skill', () => {
  it('is the same skill with the same hash, whatever the bytes', async () => {
    const header = Buffer.from('---\nname: a\ndescription: Ä 世界 👍\n---\n');
    const parts = fc.constantFrom<number[]>(
      [0xef, 0xbb, 0xbf],
      [0xff, 0xfe],
      [0xed, 0xa0, 0x80],
      [0xc3],
      [0],
      [0x0d, 0x0a],
    );
    const bytes = fc
      .array(fc.oneof(parts, fc.uint8Array({ maxLength: 4 }), fc.constant([...header])), { maxLength: 4 })
      .map((all) => Uint8Array.from(all.flatMap((part) => [...part])));
    await fc.assert(
      fc.asyncProperty(bytes, async (each) => {
        const { read, whole } = await bothWays(each);
        expect(read).toEqual(whole);
      }),
    );
  });

  it('is text when it is UTF-8, and bytes when it may be something else', async () => {
    expect((await bothWays(Buffer.from('\uFEFF---\nname: ä\n---\nx'))).isText).toBe(true);
    expect((await bothWays(Buffer.from('---\nname: a\n---\n', 'utf16le'))).isText).toBe(false);
    expect((await bothWays(Buffer.from([0x2d, 0xc4, 0xe3]))).isText).toBe(false);
    expect((await bothWays(Buffer.from('a real \uFFFD'))).isText).toBe(false);
  });
});
