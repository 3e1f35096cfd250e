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

/** What is kept, as loose as JSON is. */
interface Damaged {
  files: string;
  odd: Record<string, unknown>;
  seen: { files: unknown[]; folders: unknown[]; places: unknown[] };
  diagnostics: unknown[];
}

const add = (kept: Damaged, line: string) => Object.assign(kept, { files: kept.files + line });

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

  it.each<[string, (kept: Damaged) => unknown]>([
    ['a folder that is none', ({ seen }) => seen.folders.push(null)],
    ['a folder with a listing in place of its state', ({ seen }) => seen.folders.push(['/', 'dbin'])],
    ['a folder without a path', ({ seen }) => seen.folders.push([7, {}])],
    ['no folder at all', ({ seen }) => Object.assign(seen, { folders: [] })],
    ['a file that is none', ({ seen }) => seen.files.push(5)],
    ['a place that is none', ({ seen }) => seen.places.push(null)],
    ['a place without its kind', ({ seen }) => seen.places.push({ path: '/' })],
    ['something odd that is a number', ({ odd }) => Object.assign(odd, { 0: 5 })],
    ['something odd that is nothing', ({ odd }) => Object.assign(odd, { 0: null })],
    [
      'a layout that there is not',
      ({ odd }) => Object.assign(odd, { 0: { layout: 'x', needsKey: false, depth: 1, viaLink: false } }),
    ],
    ['something to report that is nothing', ({ diagnostics }) => diagnostics.push(null)],
    ['something to report without words', ({ diagnostics }) => diagnostics.push({ severity: 'info', code: 'x' })],
    ['a path that leads out', (kept) => add(kept, '\n../../outside/SKILL.md')],
    ['a path that leads out of a skill', (kept) => add(kept, '\nskill-00/../../../outside/SKILL.md')],
    ['a file that is no markdown', (kept) => add(kept, '\nskill-00/secret.txt')],
    ['an empty line', (kept) => add(kept, '\n')],
    ['no files', (kept) => Object.assign(kept, { files: '' })],
  ])('is ignored when it holds %s', async (_, damage) => {
    at.write('project/.reasonix/skills/skill-00/secret.txt', '---\nname: secret\ndescription: d\n---\n');
    at.skill('project/outside', 'description: d');
    const kept = JSON.parse(readFileSync(scanFile(), 'utf8')) as Damaged;
    damage(kept);
    writeFileSync(scanFile(), JSON.stringify(kept));
    const library = await at.open();
    expect(namesOf(library)).toEqual(NAMES);
    expect(library.diagnostics).toEqual([]);
  });

  it('is not written again when nothing changed', async () => {
    const before = statSync(scanFile());
    await at.open();
    expect(statSync(scanFile())).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
  });
});
