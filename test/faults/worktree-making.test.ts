import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Thread } from '../../src/session/thread.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite.ts';
import { worktreeState } from '../../src/subagents/worktree/state.ts';
import { spawnTs, type TsChild } from '../helpers/spawn-ts.ts';
import { gitIn, repository, type TestRepository } from '../subagents/repository.ts';
import { logViolations } from './check.ts';
import { readLogs } from './lives.ts';

const PROGRAM = new URL('./worktree-program.ts', import.meta.url);

/**
 * Git as the program finds it. With its call number `AT` the program is ended, or stopped; at `add`, git itself
 * dies with it, in the middle of adding a worktree.
 */
const GIT = `#!/bin/sh
number=$(($(cat "$PLACE/count") + 1))
echo $number > "$PLACE/count"
"$REAL" "$@"
code=$?
case "$AT $*" in "add "*" worktree add "*)
  for own in "$PLACE"/project/.git/worktrees/*; do
    rm -r "$(dirname "$(cat "$own/gitdir")")"
    echo initializing > "$own/locked"
  done
  number=add
esac
if [ $number = "$AT" ]; then kill -$SIGNAL $PPID; fi
exit $code
`;

/** Of so many calls in a row one is tried; `npm run faults` tries all of them. */
const STRIDE = process.env.FAULTS_RUNS === undefined ? 8 : 1;

let root: string;
let real: string;
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'reasonix-faults-')));
  const folders = (process.env.PATH ?? '').split(delimiter);
  real = folders.map((folder) => join(folder, 'git')).find((file) => existsSync(file)) ?? '';
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Blow {
  at: number | 'add';
  signal: 'KILL' | 'STOP';
}

/** A project, a home and a git of their own. */
class Place {
  readonly folder: string;
  readonly repo: TestRepository;

  constructor(name: string) {
    this.folder = join(root, name);
    mkdirSync(join(this.folder, 'bin'), { recursive: true });
    mkdirSync(join(this.folder, 'project'));
    mkdirSync(join(this.folder, 'home'));
    writeFileSync(join(this.folder, 'bin/git'), GIT);
    chmodSync(join(this.folder, 'bin/git'), 0o755);
    const skill = '---\nname: fix\ndescription: Fixes.\nrunAs: subagent\nisolation: worktree\n---\nFix.\n';
    this.repo = repository({ 'a.txt': 'old\n', '.reasonix/skills/fix/SKILL.md': skill }, join(this.folder, 'project'));
    this.repo.write('draft.txt', 'not committed\n');
  }

  store(): Promise<SqliteStore> {
    return openSqliteStore({ home: join(this.folder, 'home') });
  }

  start({ at, signal }: Blow = { at: 0, signal: 'KILL' }): Promise<TsChild> {
    writeFileSync(join(this.folder, 'count'), '0');
    const PATH = `${join(this.folder, 'bin')}${delimiter}${process.env.PATH}`;
    const env = { PATH, PLACE: this.folder, REAL: real, AT: String(at), SIGNAL: signal };
    return spawnTs(PROGRAM, { args: [this.folder], env });
  }

  /** Git calls of the last process. */
  get calls(): number {
    return Number(readFileSync(join(this.folder, 'count'), 'utf8'));
  }

  /** What is wrong with the logs, the worktree or the repository, in words. */
  async violations(): Promise<string[]> {
    const store = await this.store();
    const logs = await readLogs(store);
    await store.close();
    const wrong = [...logs].flatMap(([session, events]) => logViolations(session, events));
    const [top] = [...logs].filter(([session]) => session.startsWith('s_'));
    const children = [...logs].filter(([session]) => session.startsWith('sa_'));
    const answer = top && Thread.fold(...top).lastTurn?.answer;
    if (!answer?.includes('\nfixed\n') || !answer.includes('\n+mine')) wrong.push(`the answer is ${answer}`);
    if (children.length !== 1) wrong.push(`there are ${children.length} children`);
    for (const [reference, events] of children) {
      const folder = worktreeState(events)?.started.folder ?? '';
      const beside = readdirSync(join(this.folder, 'home/worktrees', reference)).map((name) =>
        join(dirname(folder), name),
      );
      if (beside.join() !== folder) wrong.push(`there is ${beside}, and the log has ${folder}`);
      const known =
        this.repo
          .git('worktree', 'list', '--porcelain')
          .match(/^worktree .*$/gm)
          ?.slice(1) ?? [];
      if (known.join() !== `worktree ${folder}`) wrong.push(`the repository knows ${known}`);
      const changed = gitIn(folder, 'status', '--porcelain', '-uall');
      if (changed !== ' M a.txt\n?? draft.txt') wrong.push(`in the worktree: ${changed}`);
    }
    return wrong;
  }
}

async function kill(place: Place, blow: Blow): Promise<boolean> {
  const first = await (await place.start(blow)).exited;
  if (first.signal === null) return false;
  const second = await (await place.start()).exited;
  expect(second.stdout, second.stderr).toBe('done\n');
  return true;
}

async function stopAndWake(place: Place, blow: Blow): Promise<boolean> {
  const first = await place.start(blow);
  let hasEnded = false;
  void first.exited.then(() => {
    hasEnded = true;
  });
  while (place.calls !== blow.at && !hasEnded) await delay(5);
  if (hasEnded) return false;
  let said = '';
  // Its leases run out by themselves: nobody can see that it does not go on.
  while (said !== 'done\n') {
    await delay(500);
    ({ stdout: said } = await (await place.start()).exited);
  }
  const store = await place.store();
  const finished = await readLogs(store);
  first.kill('SIGCONT');
  expect((await first.exited).stdout).toMatch(/^(?:stale_writer|session_busy)\n$/);
  expect(await readLogs(store)).toEqual(finished);
  await store.close();
  return true;
}

/** Tries it with one call after the other, of as many as an undisturbed process makes. */
async function throughout(signal: Blow['signal'], attempt: typeof kill): Promise<void> {
  const whole = new Place(`${signal}-none`);
  expect((await (await whole.start()).exited).stdout).toBe('done\n');
  const { calls } = whole;
  expect(calls).toBeGreaterThanOrEqual(FEWEST_CALLS);
  const found: Record<number, string[]> = {};
  for (let at = 1 + (Date.now() % STRIDE); at <= calls; at += STRIDE) {
    const place = new Place(`${signal}-${at}`);
    expect(await attempt(place, { signal, at }), `call ${at} of ${calls}`).toBe(true);
    const wrong = await place.violations();
    if (wrong.length > 0) found[at] = wrong;
    rmSync(place.folder, { recursive: true });
  }
  expect(found).toEqual({});
}

// Finding the repository, three for what is not committed, three for the worktree, three for the diff.
const FEWEST_CALLS = 10;

describe.skipIf(process.platform === 'win32')('a process that makes a worktree', { timeout: 300_000 }, () => {
  it('and is killed after any of its git commands leaves a child that has one worktree, and nothing else', async () => {
    await throughout('KILL', kill);
  });

  it('and dies together with git, which was adding it, leaves nothing of that behind', async () => {
    const place = new Place('add');
    expect(await kill(place, { at: 'add', signal: 'KILL' })).toBe(true);
    expect(await place.violations()).toEqual([]);
  });

  it('and is stopped after any of its git commands starts no second child when it wakes, and leaves the worktree alone', async () => {
    await throughout('STOP', stopAndWake);
  });
});
