import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { newSessionId } from '../../src/core/ids.ts';
import { removeUnusedSkills } from '../../src/skills/packed/collect.ts';
import { encodeManifest, type PackedSkill } from '../../src/skills/packed/manifest.ts';
import { packLibrary } from '../../src/skills/packed/pack.ts';
import { type PackedLibrary, unpackLibrary } from '../../src/skills/packed/unpack.ts';
import { renderForReading } from '../../src/skills/render.ts';
import { searchSkills } from '../../src/skills/search.ts';
import type { Skill, SkillLibrary } from '../../src/skills/types.ts';
import { blobHash } from '../../src/store/blobs.ts';
import type { BlobStore } from '../../src/store/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { started } from '../store/samples.ts';
import { CORPUS, HAS_CORPUS } from './corpus.ts';
import { SkillFolder } from './folder.ts';

/** Counts what is asked of a store. */
function counted(store: BlobStore): { store: BlobStore; put: string[]; asked: number } {
  const counts = { store, put: [] as string[], asked: 0 };
  const { putBlobs, missingBlobs } = store;
  store.putBlobs = (blobs) => {
    counts.put.push(...blobs.keys());
    return putBlobs.call(store, blobs);
  };
  store.missingBlobs = (hashes) => {
    counts.asked++;
    return missingBlobs.call(store, hashes);
  };
  return counts;
}

/** What must be the same on every machine: all but where it lies. */
const portable = ({ file, folder, root, stamp, shadows, diagnostics, ...rest }: Skill) => ({
  ...rest,
  stamp: stamp.slice(0, 32),
  diagnostics: diagnostics.map(({ path, ...each }) => each),
});

async function expectSame(there: SkillLibrary, here: SkillLibrary): Promise<void> {
  expect(there.skills.map(portable)).toEqual(here.skills.map(portable));
  expect(there.disabled.map(({ name }) => name)).toEqual(here.disabled.map(({ name }) => name));
  for (const [index, skill] of here.skills.entries()) {
    const same = there.skills[index] as Skill;
    expect(await there.load(same)).toEqual(await here.load(skill));
    expect(there.find(skill.name)).toEqual({ status: 'found', skill: same });
  }
}

let at: SkillFolder;
let store: BlobStore;
let machine: string;
beforeEach(() => {
  at = new SkillFolder();
  store = memoryStore();
  machine = join(at.path, 'elsewhere', 'packed');
  return () => at[Symbol.dispose]();
});

const unpack = (hash: string, folder = machine): Promise<PackedLibrary> => unpackLibrary(hash, store, folder);
const skillOf = (library: SkillLibrary, name: string): Skill => {
  const lookup = library.find(name);
  if (lookup.status !== 'found') throw new Error(`${name} is ${lookup.status}`);
  return lookup.skill;
};

/** One skill of every kind that is resolved in a way of its own. */
function everyKind(): void {
  at.skill(
    'project/.reasonix/skills/deploy',
    'description: Deploys.\nrunAs: subagent\nallowed-tools: Read, Bash(git *)',
  );
  at.write('project/.reasonix/skills/deploy/references/steps.md', 'one, two, three');
  chmodSync(at.write('project/.reasonix/skills/deploy/scripts/run.sh', '#!/bin/sh\necho ran\n'), 0o755);
  at.skill('home/.reasonix/skills/deploy', 'description: Shadowed.');
  at.skill(
    'home/.reasonix/skills/note',
    'name: a name of its own\ndescription: Notes.\nmetadata:\n  reasonix.effort: high',
  );
  at.write('project/.claude/agents/critic.md', '---\ndescription: Criticises.\n---\nBe hard.\n');
  at.write('project/.claude/skills/flat.md', '---\ndescription: Flat.\n---\nFlat body\n');
  at.write('custom/plain.md', 'No header at all.\n');
  at.write('custom/pack/.claude-plugin/plugin.json', '{"name":"bundle"}');
  at.skill('custom/pack/skills/inside', 'description: In a plugin.');
  at.skill('custom/off', 'description: Off.');
  at.skill('custom/broken', 'description: "unclosed\nallowed-tools: [nonsense-tool]');
  at.write('custom/utf16/SKILL.md', Buffer.from('\ufeff---\ndescription: Wide.\n---\nÄ body\n', 'utf16le'));
  at.skill('builtin/explore', 'description: Explores.');
}
const openAll = () =>
  at.open({ paths: [join(at.path, 'custom')], builtins: join(at.path, 'builtin'), disabledSkills: ['off'] });

describe('a packed library', () => {
  it('has the same skills on a machine without any: names, scopes, headers, bodies, files', async () => {
    everyKind();
    const here = await openAll();
    const { hash, leftOut } = await packLibrary(here, store);
    expect(leftOut).toEqual([]);
    const there = await unpack(hash);
    await expectSame(there, here);
    expect(there.find('OFF')).toEqual({ status: 'disabled', name: 'off' });
    expect(there.roots.map(({ scope }) => scope)).toEqual([
      'project',
      'project',
      'project',
      'custom',
      'user',
      'builtin',
    ]);
    for (const { file } of there.skills) expect(file.startsWith(join(machine, hash))).toBe(true);
    const { folder } = skillOf(there, 'deploy');
    expect(readFileSync(join(folder, 'references/steps.md'), 'utf8')).toBe('one, two, three');
    expect(statSync(join(folder, 'scripts/run.sh')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'references/steps.md')).mode & 0o777).toBe(0o600);
    expect(await renderForReading(skillOf(there, 'deploy'), 'x')).toContain('references/steps.md, scripts/run.sh');
  });

  it('answers searches as the original does, by bodies and references too', async () => {
    everyKind();
    const here = await openAll();
    const there = await unpack((await packLibrary(here, store)).hash);
    const answer = async (library: SkillLibrary, pattern: string, references = false) => {
      const { skills, ...rest } = await searchSkills(library, { pattern, references });
      return { ...rest, skills: skills.map(({ path, ...each }) => ({ ...each, hasPath: path !== '' })) };
    };
    for (const pattern of ['', 'deploy', 'hard', 'Ä', 'explores', 'nothing-like-this'])
      expect(await answer(there, pattern)).toEqual(await answer(here, pattern));
    expect((await answer(there, 'two', true)).matched).toBe(1);
  });

  it('stays as it was whatever happens to the original; packed again it has another name', async () => {
    const file = at.skill('project/.reasonix/skills/a', 'description: A.', 'first\n');
    const here = await at.open();
    const { hash } = await packLibrary(here, store);
    at.skill('project/.reasonix/skills/a', 'description: Changed.', 'second\n');
    const there = await unpack(hash);
    expect((await there.load(skillOf(there, 'a'))).text).toBe('first\n');
    const again = await packLibrary(here, store);
    expect(again.hash).not.toBe(hash);
    const newer = await unpack(again.hash);
    expect((await newer.load(skillOf(newer, 'a'))).text).toBe('second\n');
    expect(await there.refresh()).toEqual({ added: [], removed: [], changed: [] });
    expect(skillOf(there, 'a').description).toBe('A.');
    rmSync(dirname(file), { recursive: true });
    expect((await packLibrary(here, store)).hash).not.toBe(again.hash);
  });

  it('is sent once: nothing again for the same skills, only what changed for others', async () => {
    for (const name of ['a', 'b', 'c']) at.skill(`project/.reasonix/skills/${name}`, `description: ${name}.`, name);
    at.write('project/.reasonix/skills/a/references/r.md', 'a reference');
    const counts = counted(store);
    const here = await at.open();
    const { hash } = await packLibrary(here, store);
    expect(counts.put).toHaveLength(5);
    expect((await packLibrary(await at.open(), store)).hash).toBe(hash);
    expect(counts.put).toHaveLength(5);
    at.write('project/.reasonix/skills/a/references/r.md', 'another one');
    await packLibrary(here, store);
    expect(counts.put).toHaveLength(7);
    expect(counts.put.slice(5)).toContain(blobHash(Buffer.from('another one')));
  });

  it('looks at no file and asks nobody when nothing changed, and sees a new file beside a skill', async () => {
    const file = at.skill('project/.reasonix/skills/a', 'description: A.');
    // settled: a file that was written this moment may be written again within the same tick
    for (const path of [file, dirname(file)])
      utimesSync(path, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const counts = counted(store);
    const here = await at.open();
    const first = await packLibrary(here, store);
    expect(await packLibrary(here, store)).toBe(first);
    expect(await Promise.all([packLibrary(here, store), packLibrary(here, store)])).toEqual([first, first]);
    expect(counts.asked).toBe(1);
    at.write('project/.reasonix/skills/a/notes.md', 'new');
    expect((await packLibrary(here, store)).hash).not.toBe(first.hash);
    expect(counts.asked).toBe(2);
  });

  it('goes without what lies outside of the skill, is hidden, or is too large, and says so', async () => {
    const base = 'project/.reasonix/skills/big';
    at.skill(base, 'description: Big.');
    at.write(`${base}/.env`, 'SECRET=1');
    at.write(`${base}/node_modules/x/index.js`, 'x');
    at.write(`${base}/assets/huge.bin`, Buffer.alloc(1024 * 1024 + 1));
    for (let index = 0; index < 9; index++) at.write(`${base}/many/${index}.bin`, Buffer.alloc(1024 * 1024, index));
    at.write('outside/secret.txt', 'secret');
    const folder = join(at.path, base);
    symlinkSync(join(at.path, 'outside/secret.txt'), join(folder, 'way-out.txt'));
    symlinkSync(join(at.path, 'outside'), join(folder, 'way-out'));
    symlinkSync('SKILL.md', join(folder, 'same.md'));
    symlinkSync('nowhere', join(folder, 'dangling'));
    at.skill(`${base}/nested`, 'description: Not part of it.');
    const { hash, leftOut } = await packLibrary(await at.open(), store);
    expect(leftOut).toEqual([expect.objectContaining({ code: 'not-packed', skill: 'big', severity: 'warning' })]);
    for (const text of [
      'way-out.txt (a link that leads out',
      'way-out (a link that leads out',
      'dangling',
      'huge.bin',
      'and 2 more',
    ])
      expect(leftOut[0]?.message).toContain(text);
    const there = await unpack(hash);
    const files = readdirSync(skillOf(there, 'big').folder, { recursive: true, encoding: 'utf8' }).sort();
    expect(files).toEqual([
      'SKILL.md',
      'many',
      ...Array.from({ length: 7 }, (_, index) => `many/${index}.bin`),
      'same.md',
    ]);
    expect(readFileSync(join(skillOf(there, 'big').folder, 'same.md'), 'utf8')).toContain('description: Big.');
  });

  it('keeps a skill that is a link to elsewhere, and one whose folder no other system could have', async () => {
    at.skill('outside/linked', 'description: Linked.');
    at.write('outside/linked/ref.md', 'ref');
    mkdirSync(join(at.project, '.reasonix/skills'), { recursive: true });
    symlinkSync(join(at.path, 'outside/linked'), join(at.project, '.reasonix/skills/linked'));
    at.skill('project/.reasonix/skills/back\\slash', 'name: slash\ndescription: Odd.');
    const here = await at.open();
    const there = await unpack((await packLibrary(here, store)).hash);
    await expectSame(there, here);
    expect(readFileSync(join(skillOf(there, 'linked').folder, 'ref.md'), 'utf8')).toBe('ref');
  });
});

describe('unpacked skills', () => {
  const packed = async (): Promise<string> => {
    at.skill('project/.reasonix/skills/a', 'description: A.', 'the body\n');
    at.write('project/.reasonix/skills/a/references/r.md', 'a reference');
    return (await packLibrary(await at.open(), store)).hash;
  };

  it('may be deleted or damaged at any time, whole or in part', async () => {
    const hash = await packed();
    const there = await unpack(hash);
    const { file, folder } = skillOf(there, 'a');
    const reference = join(folder, 'references/r.md');
    rmSync(machine, { recursive: true });
    expect((await there.load(skillOf(there, 'a'))).text).toBe('the body\n');
    await there.ready();
    expect(existsSync(reference)).toBe(true);
    writeFileSync(file, 'something else');
    expect((await there.load(skillOf(there, 'a'))).text).toBe('the body\n');
    expect(readFileSync(file, 'utf8')).toContain('the body');
    rmSync(reference);
    truncateSync(join(machine, hash, 'library.json'), 10);
    await unpack(hash);
    expect(readFileSync(reference, 'utf8')).toBe('a reference');
    expect(readdirSync(machine)).toEqual([hash]);
  });

  it('are made by many at once, each file whole, while somebody deletes them', async () => {
    for (let index = 0; index < 40; index++) {
      at.skill(`project/.reasonix/skills/s${index}`, `description: ${index}.`, `body ${index}\n`.repeat(500));
    }
    const here = await at.open();
    const { hash } = await packLibrary(here, store);
    const libraries = await Promise.all(Array.from({ length: 6 }, () => unpack(hash)));
    const deleting = (async () => {
      for (let round = 0; round < 5; round++) {
        rmSync(join(machine, hash, '0'), { recursive: true, force: true });
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const reading = libraries.map(async (there) => {
      for (const [index, skill] of there.skills.entries())
        expect(await there.load(skill)).toEqual(await here.load(here.skills[index] as Skill));
    });
    await Promise.all([deleting, ...reading]);
    expect(readdirSync(machine)).toEqual([hash]);
  });

  it('need no store once they are here', async () => {
    const hash = await packed();
    await unpack(hash);
    const there = await unpackLibrary(hash, memoryStore(), machine);
    expect((await there.load(skillOf(there, 'a'))).text).toBe('the body\n');
  });

  it('that the store lost or damaged are an error that names them', async () => {
    const hash = await packed();
    const body = readFileSync(join(at.project, '.reasonix/skills/a/SKILL.md'));
    const without = (lost: string, bytes?: Uint8Array): BlobStore => {
      const other = memoryStore();
      other.readBlobs = async (hashes) => {
        const found = await store.readBlobs(hashes);
        if (bytes && found.has(lost)) found.set(lost, bytes);
        else found.delete(lost);
        return found;
      };
      return other;
    };
    const refusal = (message: RegExp) => ({ code: 'store_corrupt', message: expect.stringMatching(message) });
    const open = (from: BlobStore) => unpackLibrary(hash, from, machine);
    await expect(open(memoryStore())).rejects.toMatchObject(
      refusal(/skills that the session was started with are not/),
    );
    await expect(open(without(hash, Buffer.from('{}')))).rejects.toMatchObject(refusal(/are damaged in the store/));
    await expect(open(without(blobHash(body)))).rejects.toMatchObject(refusal(/a\/SKILL\.md are not in the store/));
    const swapped = without(blobHash(body), Buffer.from('evil'));
    await expect(open(swapped)).rejects.toMatchObject(refusal(/a\/SKILL\.md are damaged/));
    const there = await open(store);
    expect((await there.load(skillOf(there, 'a'))).text).toBe('the body\n');
    await expect(unpack('../../etc')).rejects.toMatchObject({ code: 'session_invalid' });
    const { putBlobs: _, readBlobs: __, ...bare } = memoryStore();
    await expect(unpackLibrary(hash, bare as never, join(at.path, 'new'))).rejects.toMatchObject({ code: 'config' });
  });

  it.each([
    ['../out', 'SKILL.md'],
    ['a/../../out', 'SKILL.md'],
    ['/etc', 'SKILL.md'],
    ['C:', 'SKILL.md'],
    ['a', '../../SKILL.md'],
    ['a', 'x\\..\\SKILL.md'],
    ['a', ''],
    ['a', './SKILL.md'],
    ['a', 'x\0'],
  ])('never leave their folder: %j, %j', async (folder, path) => {
    const bytes = Buffer.from('body');
    const file = { path, hash: blobHash(bytes), size: bytes.length };
    const skill: PackedSkill = { header: { name: 'evil' }, layout: 'folder', root: 0, folder, files: [file] };
    const manifest = encodeManifest({ roots: [{ scope: 'user' }], skills: [skill], disabled: [] });
    await store.putBlobs(new Map([[file.hash, bytes]]));
    await store.putBlobs(new Map([[blobHash(manifest), manifest]]));
    await expect(unpack(blobHash(manifest))).rejects.toMatchObject({ code: 'store_corrupt' });
    expect(existsSync(machine)).toBe(false);
  });

  it('of another version are refused, and keep the rest from being tidied up', async () => {
    const newer = Buffer.from(JSON.stringify({ version: 99, files: [] }));
    await store.putBlobs(new Map([[blobHash(newer), newer]]));
    await expect(unpack(blobHash(newer))).rejects.toThrow(/another version/);
    const session = newSessionId();
    await store.append(session, 0, [started(session, { library: blobHash(newer) })]);
    await expect(removeUnusedSkills(store)).rejects.toThrow(/another version/);
  });
});

it('those that no session needs are removed, after a day', async () => {
  at.skill('project/.reasonix/skills/a', 'description: A.', 'shared\n');
  const edited = at.skill('project/.reasonix/skills/b', 'description: B.', 'first\n');
  const here = await at.open();
  const first = await packLibrary(here, store);
  writeFileSync(edited, '---\ndescription: B.\n---\nsecond\n');
  const second = await packLibrary(here, store);
  const session = newSessionId();
  await store.append(session, 0, [started(session, { library: second.hash })]);
  expect(await removeUnusedSkills(store)).toBe(0);
  const { dropBlobs } = store;
  const margins: number[] = [];
  store.dropBlobs = (kept, unusedFor) => {
    margins.push(unusedFor);
    return dropBlobs.call(store, kept, -1);
  };
  // the list of the first library, and the body that only it has
  expect(await removeUnusedSkills(store)).toBe(2);
  expect(margins).toEqual([86_400_000]);
  await expect(unpack(first.hash)).rejects.toMatchObject({ code: 'store_corrupt' });
  await expectSame(await unpack(second.hash), here);
  await store.delete(session);
  expect(await removeUnusedSkills(store)).toBe(3);
});

describe.skipIf(!HAS_CORPUS)('public libraries', () => {
  it('are the same skills after the way to another machine', async () => {
    const here = await at.open({ paths: [join(CORPUS, 'libraries')], maxDepth: 6 });
    expect(here.skills.length).toBeGreaterThan(300);
    const { hash } = await packLibrary(here, store);
    await expectSame(await unpack(hash), here);
  }, 60_000);
});
