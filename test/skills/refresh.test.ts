import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OpenedLibrary } from '../../src/skills/library.ts';
import { SkillFolder } from './folder.ts';

let at: SkillFolder;
beforeEach(() => {
  at = new SkillFolder();
});
afterEach(() => at[Symbol.dispose]());

const ROOT = 'project/.claude/skills';

const past = new Date('2020-01-01T00:00:00.123Z');

/** Times long ago, so that a look may believe them. The time of change cannot be set: this waits it out. */
async function settled(paths: readonly string[]): Promise<void> {
  for (const path of paths) utimesSync(path, past, past);
  await new Promise((resolve) => setTimeout(resolve, 80));
}

const told = ({ skills, disabled, diagnostics, collapsed, roots }: OpenedLibrary): unknown =>
  JSON.parse(JSON.stringify({ skills, disabled, diagnostics, collapsed, roots }));

/** So many that what a look found is kept for the next process. */
function fill(): void {
  for (let index = 0; index < 20; index++) at.skill(`${ROOT}/filler-${index}`, `description: number ${index}`);
}

/** What refresh says, and a library opened over what is kept, is what one says that has nothing kept. */
async function expectFresh(library: OpenedLibrary): Promise<void> {
  await library.refresh();
  const next = await at.open();
  rmSync(join(at.home, '.reasonix/cache'), { recursive: true, force: true });
  const fresh = await at.open();
  expect(told(library)).toEqual(told(fresh));
  expect(told(next)).toEqual(told(fresh));
  expect(library.fingerprint).toBe(fresh.fingerprint);
}

describe('looking again', () => {
  it.each<[string, (path: (name: string) => string) => void]>([
    ['nothing', () => {}],
    ['a skill more', () => void at.skill(`${ROOT}/new`, 'description: d')],
    ['a skill gone', (path) => rmSync(path('a'), { recursive: true })],
    ['a skill renamed', (path) => renameSync(path('a'), path('z'))],
    ['an edit in place', (path) => writeFileSync(path('a/SKILL.md'), '---\ndescription: two\n---\n')],
    ['a folder that becomes a skill', () => void at.skill(`${ROOT}/empty`, 'description: d')],
    ['a skill deep in a group', () => void at.skill(`${ROOT}/group/inner/deep`, 'description: d')],
    [
      'a file that becomes a folder of the same name',
      (path) => {
        unlinkSync(path('notes'));
        at.skill(`${ROOT}/notes`, 'description: d');
      },
    ],
    ['a link that finds its target', () => void at.skill('elsewhere/late', 'description: d')],
    [
      'a link that leads elsewhere',
      (path) => {
        unlinkSync(path('linked'));
        symlinkSync(join(at.path, 'elsewhere/two'), path('linked'));
      },
    ],
    ['a change behind a link', () => void at.skill('elsewhere/one/more', 'description: d')],
    [
      'another folder behind a link',
      () => renameSync(join(at.path, 'elsewhere/two'), join(at.path, 'elsewhere/one/x')),
    ],
    ['a manifest', (path) => writeFileSync(path('plug/.claude-plugin/plugin.json'), '{"name":"other"}')],
    [
      'a manifest that comes',
      (path) => {
        mkdirSync(path('group/.claude-plugin'));
        writeFileSync(path('group/.claude-plugin/plugin.json'), '{"name":"p2"}');
      },
    ],
    ['a folder that a manifest names', () => void at.skill(`${ROOT}/plug/extra/s`, 'description: d')],
    ['a flat file with a key now', (path) => writeFileSync(path('flat.md'), '---\nname: flat\n---\n')],
    ['a root that comes', () => void at.skill('project/.agents/skills/r', 'description: d')],
    ['a lock', () => void at.write('project/.reasonix/skills.lock', '{')],
  ])('sees %s', async (_, change) => {
    const path = (name: string): string => join(at.path, ROOT, name);
    fill();
    at.skill(`${ROOT}/a`, 'description: one');
    at.skill(`${ROOT}/group/b`, 'description: b');
    at.skill('project/.reasonix/skills/c', 'description: c');
    at.skill('elsewhere/one/e1', 'description: e1');
    at.skill('elsewhere/two/e2', 'description: e2');
    at.write(`${ROOT}/plug/.claude-plugin/plugin.json`, '{"name":"plug","skills":["./extra"]}');
    at.skill(`${ROOT}/plug/skills/inside`, 'description: d');
    at.write(`${ROOT}/notes`, 'no skill');
    at.write(`${ROOT}/flat.md`, '# no skill');
    mkdirSync(path('empty'));
    mkdirSync(path('group/.hidden'));
    symlinkSync(join(at.path, 'elsewhere/one'), path('linked'));
    symlinkSync(join(at.path, 'elsewhere/late'), path('broken'));
    await settled([path('a/SKILL.md')]);
    const library = await at.open();
    await settled([]);
    await expectFresh(library);
    change(path);
    await expectFresh(library);
    await settled([]);
    await expectFresh(library);
  });

  it.skipIf(process.getuid?.() === 0)('sees that a folder can be read again', async () => {
    at.skill(`${ROOT}/a`, 'description: d');
    const folder = join(at.path, ROOT);
    chmodSync(folder, 0o000);
    const library = await at.open();
    chmodSync(folder, 0o755);
    await expectFresh(library);
    expect(library.skills).toHaveLength(1);
  });

  it('makes nothing anew when nothing changed', async () => {
    at.skill(`${ROOT}/a`, 'description: d');
    symlinkSync(join(at.path, ROOT, 'a'), join(at.path, ROOT, 'l'));
    await settled([]);
    const library = await at.open();
    const { skills } = library;
    expect(await library.refresh()).toEqual({ added: [], removed: [], changed: [] });
    expect(library.skills).toBe(skills);
  });

  it('agrees with a library opened now, whatever happens', async () => {
    const name = fc.constantFrom('a', 'b', 'g/c', 'g', 'x.md', 'a/d');
    const step = fc.oneof(
      fc.tuple(fc.constant('write'), name, fc.constantFrom('one', 'two', 'six')),
      fc.tuple(fc.constant('remove'), name, fc.constant('')),
      fc.tuple(fc.constant('move'), name, fc.constantFrom('m', 'g', 'a')),
      fc.tuple(fc.constant('link'), name, fc.constantFrom('m', 'g', 'a')),
      fc.tuple(fc.constant('wait'), fc.constant(''), fc.constant('')),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        using place = new SkillFolder();
        at = place;
        fill();
        const library = await at.open();
        for (const [what, path, more] of steps) {
          const full = join(at.path, ROOT, path);
          try {
            if (what === 'write' && path.endsWith('.md'))
              at.write(`${ROOT}/${path}`, `---\ndescription: ${more}\n---\n`);
            else if (what === 'write') at.skill(`${ROOT}/${path}`, `description: ${more}`);
            else if (what === 'remove') rmSync(full, { recursive: true, force: true });
            else if (what === 'move') renameSync(full, join(at.path, ROOT, more));
            else if (what === 'link') symlinkSync(full, join(at.path, ROOT, more));
            else await new Promise((resolve) => setTimeout(resolve, 60));
          } catch {
            // not possible with what there is: nothing happened
          }
          await expectFresh(library);
        }
      }),
      { numRuns: 15 },
    );
  });
});
