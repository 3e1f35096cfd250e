import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { repository } from '../subagents/repository.ts';
import { binary, built, Workplace } from './workplace.ts';

const SCRIPT = `
rules:
  - name: child writes
    when: { kind: child, turn_step: 1 }
    calls: [{ name: write_file, arguments: { path: "{{user}}.txt", content: "by the child" } }]
  - name: child
    when: { kind: child }
    text: "the child is done"
  - name: delegate
    when: { turn_step: 1 }
    calls:
      - { name: run_skill, arguments: { name: fix, arguments: "one" } }
      - { name: run_skill, arguments: { name: fix, arguments: "two" } }
  - name: answer
    text: "all done"
`;

let place: Workplace;
beforeAll(built);
beforeEach(() => {
  place = new Workplace(SCRIPT);
  place.skill('fix', 'description: Fixes.\nrunAs: subagent\nisolation: worktree');
  rmdirSync(join(place.project, '.git'));
  repository({}, place.project);
});
afterEach(() => place.remove());

const references = (stderr: string): string[] =>
  [...stderr.matchAll(/session apply (sa_\w+)/g)].map(([, ref]) => ref ?? '');

describe('session apply', { timeout: 120_000 }, () => {
  test('takes over what a sub-agent changed, or drops it; rm removes what is left', async () => {
    const { code, stderr } = await place.run(['run', '--yes', 'go']);
    expect(code).toBe(0);
    const [one = '', two = ''] = references(stderr);
    expect(two).not.toBe('');
    const applied = await place.run(['session', 'apply', one]);
    expect([applied.code, applied.stdout]).toEqual([0, expect.stringContaining('1 file changed')]);
    expect(await place.json(['session', 'apply', one, '--json'])).toMatchObject({
      session: one,
      how: 'applied',
      new: false,
    });
    expect(await place.json(['session', 'apply', two, '--discard', '--json'])).toMatchObject({
      how: 'discarded',
      new: true,
      files: 1,
    });
    const written = ['one.txt', 'two.txt'].filter((name) => existsSync(join(place.project, name)));
    expect(written).toHaveLength(1);
    expect(readFileSync(join(place.project, written[0] ?? ''), 'utf8')).toBe('by the child');
    const root = await place.run(['session', 'apply', 's_unknown']);
    expect([root.code, root.stderr]).toEqual([1, expect.stringContaining('there is no session')]);
  });

  test('rm takes worktrees along, and removes folders that no session has', async () => {
    const { stderr } = await place.run(['run', '--yes', 'go']);
    expect(references(stderr)).toHaveLength(2);
    const worktrees = join(place.reasonixHome, 'worktrees');
    expect(readdirSync(worktrees)).toHaveLength(2);
    const { sessions } = await place.json<{ sessions: { session: string }[] }>(['session', 'list', '--json']);
    await place.run(['session', 'rm', sessions[0]?.session ?? '', '--yes']);
    expect(readdirSync(worktrees)).toEqual([]);
    const orphan = join(place.reasonixHome, 'scratch/sa_01orphan');
    mkdirSync(orphan, { recursive: true });
    const doctor = await place.run(['doctor']);
    expect(doctor.stdout).toContain('sa_01orphan');
    expect(await place.json(['session', 'rm', 'sa_01orphan', '--yes', '--json'])).toEqual({ removed: ['sa_01orphan'] });
    expect(existsSync(orphan)).toBe(false);
  });
});

// A pseudo-terminal, where the system has one to give.
const hasTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

test.skipIf(!hasTerminal)(
  'questions of sub-agents come one at a time on a terminal, and say who asks',
  { timeout: 120_000 },
  async () => {
    const child = spawn('script', ['-qec', `"${process.execPath}" "${binary}" run go`, '/dev/null'], {
      cwd: place.project,
      env: { PATH: process.env.PATH, HOME: place.home, TERM: 'dumb', NO_COLOR: '1' },
      stdio: 'pipe',
    });
    let shown = '';
    const answers = ['y\n', 'n\n'];
    let answered = 0;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
      const asked = shown.split('Allow? [y]es, [n]o, [a]lways').length - 1;
      // Never two questions without an answer in between.
      if (asked > answered + 1) child.kill('SIGKILL');
      if (asked > answered) child.stdin.write(answers[answered++] ?? 'n\n');
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(shown).toMatch(/fix \(sa_\w+\) wants to use write_file: (one|two)\.txt/);
    expect([code, answered]).toEqual([0, 2]);
    expect(shown).toContain('all done');
    // One was allowed to write, in its worktree; the other was not.
    expect(references(shown)).toHaveLength(1);
  },
);
