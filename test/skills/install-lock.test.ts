import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hashOf } from '../../src/skills/hash.ts';
import { withFolderLock } from '../../src/skills/install/folder-lock.ts';
import { applyInstall } from '../../src/skills/install/install.ts';
import type { LockEntry } from '../../src/skills/install/lock.ts';
import type { PlannedSkill } from '../../src/skills/install/plan.ts';
import { applyRemovals, planRemoval, planRemovalOfInstalled } from '../../src/skills/install/remove.ts';
import { applyChanges, recover } from '../../src/skills/install/transaction.ts';
import { verifyInstalled } from '../../src/skills/install/verify.ts';
import { processOwner } from '../../src/store/owner.ts';
import { namesOf } from './folder.ts';
import { skillText } from './install-archives.ts';
import { InstallFolder } from './install-place.ts';

let folder: InstallFolder;
beforeEach(() => {
  folder = new InstallFolder();
  folder.write('src/a/SKILL.md', skillText('a', 'runAs: subagent\nallowed-tools: Read, Grep\nmax-steps: 5'));
  folder.write('src/a/scripts/run.sh', 'echo a\n');
  folder.write('src/b/SKILL.md', skillText('b'));
});
afterEach(() => folder[Symbol.dispose]());

const signal = new AbortController().signal;
const inPlace = (path: string): string => join(folder.place.folder, path);

describe('verifying', () => {
  test.each<[string, () => void, object]>([
    [
      'a changed file',
      () => writeFileSync(inPlace('skills/a/scripts/run.sh'), 'x'),
      { status: 'changed', message: 'scripts/run.sh changed' },
    ],
    ['a new file', () => writeFileSync(inPlace('skills/a/x.py'), 'x'), { status: 'changed', message: 'x.py added' }],
    [
      'a missing file',
      () => rmSync(inPlace('skills/a/scripts/run.sh')),
      { status: 'changed', message: 'scripts/run.sh removed' },
    ],
    [
      'a file that may be run now',
      () => chmodSync(inPlace('skills/a/scripts/run.sh'), 0o755),
      { status: 'changed', message: 'scripts/run.sh with another mode' },
    ],
    [
      'a link in the place of a file',
      () => {
        rmSync(inPlace('skills/a/scripts/run.sh'));
        symlinkSync('/etc/hostname', inPlace('skills/a/scripts/run.sh'));
      },
      { status: 'changed' },
    ],
    [
      'a link in the place of the skill',
      () => {
        renameSync(inPlace('skills/a'), join(folder.path, 'moved'));
        symlinkSync(join(folder.path, 'moved'), inPlace('skills/a'));
      },
      { status: 'foreign' },
    ],
    ['a skill that is gone', () => rmSync(inPlace('skills/a'), { recursive: true }), { status: 'missing' }],
    [
      'another understanding of what it may do',
      () => {
        const lock = JSON.parse(readFileSync(folder.lock, 'utf8'));
        lock.skills.a.tools = ['read_file'];
        writeFileSync(folder.lock, JSON.stringify(lock));
      },
      { status: 'grant' },
    ],
  ])('reports %s, and only that', async (_, damage, expected) => {
    await folder.install('./src');
    expect(await verifyInstalled(folder.place)).toMatchObject([{ status: 'ok' }, { status: 'ok' }]);
    damage();
    expect(await verifyInstalled(folder.place)).toMatchObject([
      { name: 'a', ...expected },
      { name: 'b', status: 'ok' },
    ]);
  });

  test('does not mind what interpreters and systems strew about', async () => {
    await folder.install('./src');
    mkdirSync(inPlace('skills/a/__pycache__'));
    writeFileSync(inPlace('skills/a/__pycache__/x.pyc'), 'x');
    writeFileSync(inPlace('skills/a/.DS_Store'), 'x');
    expect(await verifyInstalled(folder.place)).toMatchObject([{ status: 'ok' }, { status: 'ok' }]);
  });
});

describe('an installed skill that was changed', () => {
  test('is reported by the library, and may do no more than the one that was installed', async () => {
    await folder.install('./src');
    const before = await folder.open();
    expect(before.diagnostics.filter(({ code }) => code === 'install-changed')).toEqual([]);
    writeFileSync(inPlace('skills/a/SKILL.md'), skillText('a', 'allowed-tools: Read, Bash\nmax-steps: 50'));
    const { skills, diagnostics } = await folder.open();
    expect(diagnostics.filter(({ code }) => code === 'install-changed')).toMatchObject([
      { skill: 'a', severity: 'warning' },
    ]);
    expect(skills[0]).toMatchObject({
      runAs: 'subagent',
      allowedTools: [{ tool: 'read_file' }],
      limits: { maxSteps: 5 },
    });
  });

  test('without its restrictions keeps those that were shown', async () => {
    await folder.install('./src');
    writeFileSync(inPlace('skills/a/SKILL.md'), skillText('a'));
    const { skills } = await folder.open();
    expect(skills[0]!.allowedTools).toEqual([{ tool: 'read_file' }, { tool: 'grep' }]);
  });

  test('that was made narrower is narrower', async () => {
    await folder.install('./src');
    writeFileSync(inPlace('skills/b/SKILL.md'), skillText('b', 'allowed-tools: Read\nread-only: true'));
    const { skills } = await folder.open();
    expect(skills[1]).toMatchObject({ allowedTools: [{ tool: 'read_file' }], readOnly: true });
  });
});

describe('the lock', () => {
  test('is the same on every machine, whatever the order of installing', async () => {
    await folder.install('./src', { skills: ['b'] });
    await folder.install('./src', { skills: ['a'] });
    const one = readFileSync(folder.lock, 'utf8');
    rmSync(folder.place.folder, { recursive: true });
    await folder.install('./src');
    expect(readFileSync(folder.lock, 'utf8')).toBe(one);
    expect(Object.keys(JSON.parse(one).skills)).toEqual(['a', 'b']);
    expect(one).not.toMatch(/\d{4}-\d\d-\d\d|"at"/);
  });

  test.each([
    ['no JSON', '{'],
    ['a merge that was not finished', '<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n'],
    ['a newer version', '{"version": 2, "skills": {}}'],
    ['a path out of its folder', 'skills/../../../x'],
    ['an absolute path', '/etc'],
    ['a path into another folder', 'sessions/x'],
    ['a path of two levels', 'skills/x/y'],
  ])('with %s is refused by every command, and the library says so', async (_, text) => {
    await folder.install('./src');
    const lock = JSON.parse(readFileSync(folder.lock, 'utf8'));
    if (!/[{<]/.test(text)) lock.skills.a.path = text;
    writeFileSync(folder.lock, /[{<]/.test(text) ? text : JSON.stringify(lock));
    await expect(verifyInstalled(folder.place)).rejects.toMatchObject({ code: 'config' });
    await expect(folder.update()).rejects.toMatchObject({ code: 'config' });
    await expect(planRemovalOfInstalled('a', folder.place, signal)).rejects.toMatchObject({ code: 'config' });
    const { skills, diagnostics } = await folder.open();
    expect(skills).toHaveLength(2);
    expect(diagnostics.some(({ code }) => code === 'lock-unreadable')).toBe(true);
  });
});

describe('writing', () => {
  test('fails as a whole when one place changed after the plan, and leaves nothing behind', async () => {
    const plan = await folder.plan('./src');
    folder.write('project/.reasonix/skills/b/SKILL.md', skillText('b'));
    writeFileSync(inPlace('skills/b/SKILL.md'), 'mine');
    await expect(applyInstall(plan, signal)).rejects.toThrow(/changed in the meantime/);
    expect(folder.installed()).toEqual(['skills/b/SKILL.md']);
    expect(folder.read('skills/b/SKILL.md')).toBe('mine');
  });

  test.skipIf(process.getuid?.() === 0)('to a folder that cannot be written leaves nothing behind', async () => {
    chmodSync(folder.project, 0o555);
    await expect(folder.install('./src')).rejects.toMatchObject({ code: 'skill_refused' });
    chmodSync(folder.project, 0o755);
    expect(existsSync(folder.place.folder)).toBe(false);
  });

  test('undoes everything when it fails after files were replaced', async () => {
    await folder.install('./src', { skills: ['a'] });
    const before = readFileSync(folder.lock, 'utf8');
    folder.write('src/a/SKILL.md', skillText('a', '', 'New.\n'));
    const { skills } = await folder.plan('./src');
    let reads = 0;
    const [a, b] = skills as [PlannedSkill, PlannedSkill];
    const failing = {
      ...b.entry,
      // the first time for the journal, the second time for the lock itself
      get files(): Record<string, string> {
        expect(folder.read('skills/a/SKILL.md').includes('New.')).toBe(++reads > 1);
        if (reads > 1) throw new Error('no space left');
        return b.entry.files;
      },
    };
    const changes = [a, b].map(({ path, expected, files, entry }) => ({
      path,
      expected,
      next: { files, content: entry.content },
    }));
    const lock = new Map<string, LockEntry>([
      ['a', a.entry],
      ['b', failing],
    ]);
    await expect(applyChanges(folder.place, changes, () => lock, signal)).rejects.toThrow(/no space left/);
    expect(readFileSync(folder.lock, 'utf8')).toBe(before);
    expect(folder.installed()).toEqual(['skills.lock', 'skills/a/SKILL.md', 'skills/a/scripts/run.sh']);
    expect(await verifyInstalled(folder.place)).toMatchObject([{ name: 'a', status: 'ok' }]);
  });

  test('of two at once ends with both', async () => {
    const plans = await Promise.all([folder.plan('./src', { skills: ['a'] }), folder.plan('./src', { skills: ['b'] })]);
    await Promise.all(plans.map((plan) => applyInstall(plan, signal)));
    expect(await verifyInstalled(folder.place)).toMatchObject([
      { name: 'a', status: 'ok' },
      { name: 'b', status: 'ok' },
    ]);
  });

  /** As a process leaves it that was killed between two renames. */
  async function killed(lockAfter: string): Promise<void> {
    const id = '.install-0123456789ab';
    mkdirSync(inPlace(`skills/${id}/0`), { recursive: true });
    mkdirSync(inPlace(`skills/${id}/1/new`), { recursive: true });
    renameSync(inPlace('skills/a'), inPlace(`skills/${id}/0/old`));
    folder.write('project/.reasonix/skills/a/SKILL.md', 'new');
    const { content } = (await import('../../src/skills/install/on-disk.ts').then(({ readInstalled }) =>
      readInstalled(inPlace('skills/a')),
    )) as { content: string };
    const changes = [
      { path: 'skills/a', work: '0', content, hadOld: true },
      { path: 'skills/b', work: '1', content: 'x', hadOld: true },
    ];
    writeFileSync(inPlace(`${id}.json`), JSON.stringify({ lock: await hashOf(lockAfter), changes }));
  }

  test('that was killed half way is undone by the next one', async () => {
    await folder.install('./src');
    await killed('a lock that was never written');
    await recover(folder.place);
    expect(folder.installed()).toEqual([
      'skills.lock',
      'skills/a/SKILL.md',
      'skills/a/scripts/run.sh',
      'skills/b/SKILL.md',
    ]);
    expect((await verifyInstalled(folder.place)).every(({ status }) => status === 'ok')).toBe(true);
  });

  test('that was killed half way leaves nothing that passes for edits', async () => {
    await folder.install('./src');
    await killed('a lock that was never written');
    expect(await folder.plan('./src')).toMatchObject({ skills: [{ action: 'keep' }, { action: 'keep' }] });
    await killed('a lock that was never written');
    expect(await folder.update()).toMatchObject({ lost: [] });
    await killed('a lock that was never written');
    writeFileSync(inPlace('.skills.lock.0123456789ab.tmp'), '{');
    expect(await planRemovalOfInstalled('a', folder.place, signal)).toMatchObject({ files: 2, edited: false });
    expect(folder.installed().filter((path) => path.includes('.install-') || path.endsWith('.tmp'))).toEqual([]);
  });

  test('that was killed after the lock was written is finished by the next one', async () => {
    await folder.install('./src');
    await killed(readFileSync(folder.lock, 'utf8'));
    await recover(folder.place);
    expect(folder.read('skills/a/SKILL.md')).toBe('new');
    expect(folder.installed()).toEqual(['skills.lock', 'skills/a/SKILL.md', 'skills/b/SKILL.md']);
  });

  test('ignores a journal that names other places', async () => {
    await folder.install('./src');
    folder.write('project/.install-0123456789ab/0/old/x', 'moved');
    const journal = { lock: 'x', changes: [{ path: 'skills/../../src', work: '0', content: null, hadOld: true }] };
    writeFileSync(inPlace('.install-0123456789ab.json'), JSON.stringify(journal));
    await recover(folder.place);
    expect(existsSync(join(folder.project, 'src'))).toBe(false);
    expect(folder.installed()).not.toContain('.install-0123456789ab.json');
  });
});

describe('the lock of the folder', () => {
  const owner = (): string => inPlace('.skills.lock.owner');

  const heldBy = (holder: string, at = Date.now()): void => {
    mkdirSync(folder.place.folder, { recursive: true });
    writeFileSync(owner(), JSON.stringify({ owner: holder, at }));
  };

  test('of a process that is gone does not keep others out', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => child.once('exit', resolve));
    heldBy(processOwner().replace(`:${process.pid}:`, `:${child.pid}:`));
    await folder.install('./src');
    expect(existsSync(owner())).toBe(false);
  });

  const onLinux = test.skipIf(process.platform !== 'linux');
  const [host, pid, token = ''] = processOwner().split(':');

  onLinux('of a process whose number another one has by now does not keep others out', async () => {
    heldBy(`${host}:${pid}:1${token}:x`);
    await folder.install('./src');
    expect(existsSync(owner())).toBe(false);
  });

  onLinux('of another container, whose processes nobody here sees, holds until it is forgotten', async () => {
    // no process here has the number, and none has to
    const elsewhere = `${host}:4194304:${token.replace(/\d+$/, '1')}:x`;
    heldBy(elsewhere);
    const waiting = withFolderLock(folder.place.folder, AbortSignal.timeout(300), async () => 'inside');
    await expect(waiting).rejects.toThrow('timeout');
    heldBy(elsewhere, Date.now() - 11 * 60_000);
    expect(await withFolderLock(folder.place.folder, signal, async () => 'inside')).toBe('inside');
  });

  test('lets one in at a time, and gives way to a stop', async () => {
    mkdirSync(folder.place.folder);
    let inside = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
    };
    await Promise.all(Array.from({ length: 5 }, () => withFolderLock(folder.place.folder, signal, work)));
    expect(most).toBe(1);
    const controller = new AbortController();
    await withFolderLock(folder.place.folder, signal, async () => {
      const waiting = withFolderLock(folder.place.folder, controller.signal, work);
      controller.abort(new Error('stop'));
      await expect(waiting).rejects.toThrow('stop');
    });
  });
});

describe('removing', () => {
  test('takes the folder and the entry of the lock, and the last one takes the lock', async () => {
    await folder.install('./src');
    for (const name of ['a', 'b'])
      await applyRemovals([(await planRemovalOfInstalled(name, folder.place, signal))!], signal);
    expect(folder.installed()).toEqual([]);
    expect(await planRemovalOfInstalled('a', folder.place, signal)).toBeUndefined();
  });

  test('takes several or, when one cannot be taken, none', async () => {
    await folder.install('./src');
    folder.write('project/.agents/skills/mine/SKILL.md', skillText('mine'));
    const removals = async () => {
      const { skills } = await folder.open();
      return [
        (await planRemovalOfInstalled('a', folder.place, signal))!,
        await planRemoval(skills.find(({ name }) => name === 'mine')!),
        (await planRemovalOfInstalled('b', folder.place, signal))!,
      ];
    };
    const before = folder.installed();
    const [a, mine, b] = await removals();
    const lost = { ...b!, name: 'lost' };
    await expect(applyRemovals([a!, mine!, lost], signal)).rejects.toMatchObject({ code: 'skill_not_found' });
    expect(folder.installed()).toEqual(before);
    // no folder can be renamed by this spelling of its path
    const stuck = { ...b!, path: `${b!.path}/.` };
    await expect(applyRemovals([a!, mine!, stuck], signal)).rejects.toThrow(/could not be removed/);
    expect(folder.installed()).toEqual(before);
    expect(namesOf(await folder.open())).toEqual(['a', 'b', 'mine']);
    await applyRemovals(await removals(), signal);
    expect(folder.installed()).toEqual([]);
    expect(namesOf(await folder.open())).toEqual([]);
  });

  test('takes a link, and leaves what it leads to', async () => {
    await folder.install('./src');
    const elsewhere = join(folder.path, 'elsewhere');
    renameSync(inPlace('skills/a'), elsewhere);
    symlinkSync(elsewhere, inPlace('skills/a'));
    const removal = (await planRemovalOfInstalled('a', folder.place, signal))!;
    expect(removal).toMatchObject({ is: 'link', edited: true });
    await applyRemovals([removal], signal);
    expect(existsSync(join(elsewhere, 'SKILL.md'))).toBe(true);
    expect(folder.installed()).toEqual(['skills.lock', 'skills/b/SKILL.md']);
  });

  test('of skills that were not installed stays below their root', async () => {
    folder.write('builtin/x/SKILL.md', skillText('x'));
    folder.write('real/inner/SKILL.md', skillText('inner'));
    folder.write('one/SKILL.md', skillText('one'));
    folder.write('project/.agents/skills/mine/SKILL.md', skillText('mine'));
    symlinkSync(join(folder.path, 'real'), join(folder.project, '.agents/skills/group'));
    const { skills } = await folder.open({ builtins: join(folder.path, 'builtin'), paths: [join(folder.path, 'one')] });
    const skill = (name: string) => skills.find((each) => each.name === name)!;
    await expect(planRemoval(skill('x'))).rejects.toThrow(/built in/);
    await expect(planRemoval(skill('inner'))).rejects.toThrow(/behind the link/);
    await expect(planRemoval(skill('one'))).rejects.toThrow(/all of it/);
    await applyRemovals([await planRemoval(skill('mine'))], signal);
    expect(namesOf(await folder.open())).toEqual(['inner']);
  });
});
