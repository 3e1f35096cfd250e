import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { namesOf, SkillFolder } from './folder.ts';

const SKILLS = 'project/.reasonix/skills';
const NAMES = Array.from({ length: 20 }, (_, index) => `skill-${String(index).padStart(2, '0')}`);

let at: SkillFolder;
beforeEach(async () => {
  at = new SkillFolder();
  for (const name of NAMES) at.skill(`${SKILLS}/${name}`, 'description: d');
  // a folder that changed this moment may change again within the same tick of its clock
  await new Promise((resolve) => setTimeout(resolve, 80));
  await at.open();
});
afterEach(() => at[Symbol.dispose]());

function scanFile(): string {
  const folder = join(at.home, '.reasonix/cache');
  const [name, ...others] = readdirSync(folder).filter((each) => each.startsWith('scan-'));
  expect(others).toEqual([]);
  return join(folder, name!);
}

/** Makes what is kept differ from what is there, so that one sees where an answer comes from. */
function leaveOutFirst(): void {
  const kept = JSON.parse(readFileSync(scanFile(), 'utf8')) as { files: string };
  kept.files = kept.files.split('\n').slice(1).join('\n');
  writeFileSync(scanFile(), JSON.stringify(kept));
}

describe('what a look through a root found', () => {
  it('serves the next process, which lists no folder', async () => {
    leaveOutFirst();
    expect(namesOf(await at.open())).toEqual(NAMES.slice(1));
  });

  it('serves nobody who looks otherwise', async () => {
    leaveOutFirst();
    expect(namesOf(await at.open({ maxDepth: 5 }))).toEqual(NAMES);
  });

  it('counts for nothing once something came', async () => {
    leaveOutFirst();
    at.skill(`${SKILLS}/zz`, 'description: d');
    expect(namesOf(await at.open())).toEqual([...NAMES, 'zz']);
  });

  it.each(['', '{', 'null', '[]', '"x"'])('is ignored when it is %j', async (content) => {
    writeFileSync(scanFile(), content);
    expect(namesOf(await at.open())).toEqual(NAMES);
    expect(readFileSync(scanFile(), 'utf8')).toContain('skill-00');
  });

  it.each([
    ['files', 7],
    ['odd', null],
    ['seen', null],
    ['seen', { files: [], folders: [] }],
    ['diagnostics', 'x'],
  ])('is ignored when its %s is %j', async (key, value) => {
    const kept = JSON.parse(readFileSync(scanFile(), 'utf8')) as object;
    writeFileSync(scanFile(), JSON.stringify({ ...kept, [key]: value }));
    expect(namesOf(await at.open())).toEqual(NAMES);
  });

  it('is not written again when nothing changed', async () => {
    const before = statSync(scanFile());
    await at.open();
    expect(statSync(scanFile())).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
  });
});
