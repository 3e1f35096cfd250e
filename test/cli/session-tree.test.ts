import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { widthOf } from '../../src/cli/terminal.ts';
import { binary, built, Workplace } from './workplace.ts';

const SCRIPT = `
rules:
  - name: slow
    when: { skill: slow, step: 1 }
    calls: [{ name: shell, arguments: { command: "until [ -e {{user}}.go ]; do sleep 0.05; done" } }]
  - name: short
    when: { skill: short, tool_choice: auto }
    calls: [{ name: list_files, arguments: {} }]
  - name: short-end
    when: { skill: short, tool_choice: none }
    text: "so far"
  - name: quick
    when: { kind: child }
    text: "done"
  - name: delegate
    when: { turn_step: 1, user: both }
    calls:
      - { name: run_skill, arguments: { name: slow, arguments: "{{user}}" } }
      - { name: run_skill, arguments: { name: short, arguments: "be short" } }
  - name: endless
    when: { user: endless, tool_choice: auto }
    latency: 20
    calls: [{ name: list_files, arguments: {} }]
  - name: answer
    text: "all done"
`;

interface Node {
  session: string;
  status: string;
  skill: string | null;
  steps: number;
  limit: { which: string; set_by: string } | null;
  reason: string | null;
  waiting_for: string[];
  children: Node[];
}

let place: Workplace;
beforeAll(async () => {
  await built();
  place = new Workplace(SCRIPT);
  place.skill('slow', 'description: Slow.\nrunAs: subagent');
  place.skill('short', 'description: Short.\nrunAs: subagent\nmax-steps: 1');
  place.skill('quick', 'description: Quick.\nrunAs: subagent');
}, 120_000);
afterAll(() => place.remove());

/** A run whose session has an id already; its slow child works until it is let go. */
async function begun(name: string) {
  const run = place.start(['run', `both-${name}`, '--yes', '--output', 'stream-json']);
  const first = await run.line();
  const { session } = JSON.parse(first!) as { session: string };
  return { run, session, letGo: () => place.write(`both-${name}.go`, '') };
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 100; tries++) {
    const found = await look();
    if (found !== undefined) return found;
    await delay(50);
  }
  throw new Error('it did not come to that');
}

describe('session tree', () => {
  test('shows who waits for whom while another process runs, and follows it to its end', async () => {
    const { run, session, letGo } = await begun('watched');
    const busy = await until(async () => {
      const tree = await place.json<Node>(['session', 'tree', session, '--json']);
      return tree.waiting_for.length > 0 ? tree : undefined;
    });
    const slow = busy.children.find(({ skill }) => skill === 'slow')!;
    expect(busy).toMatchObject({ status: 'running', waiting_for: expect.arrayContaining([slow.session]) });
    const following = place.start(['session', 'tree', session, '--follow']);
    const asJson = place.start(['session', 'tree', session, '-f', '--json']);
    // Both have seen that it goes on.
    await Promise.all([following.line(), asJson.line()]);
    letGo();
    const [text, json] = await Promise.all([following.ended, asJson.ended]);
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(text.code).toBe(0);
    expect(text.stdout).toContain(`slow ${slow.session} completed: 2 steps`);
    expect(text.stdout).toMatch(new RegExp(`^${session} · completed · 2 steps .* · both-watched$`, 'm'));
    expect(text.stdout).toMatch(
      /short sa_\w+ · limit:steps · 2 steps .*steps limit of 1 reached \(set by max-steps of the skill short, .*SKILL\.md\)/,
    );
    const events = json.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { session: string; type: string });
    expect(events[0]).toMatchObject({ session, type: 'session.started' });
    expect(events.at(-1)).toMatchObject({ session, type: 'turn.ended' });
    expect(new Set(events.map((event) => event.session)).size).toBe(3);
  });

  test('of what has ended is over at once; --json says why each ended', async () => {
    place.write('both-over.go', '');
    const { session } = await place.json<{ session: string }>(['run', 'both-over', '--yes', '--output', 'json']);
    expect((await place.run(['session', 'tree', session, '--follow'])).code).toBe(0);
    const tree = await place.json<Node>(['session', 'tree', session, '--json']);
    expect(tree.children.find(({ skill }) => skill === 'short')).toMatchObject({
      status: 'limit',
      steps: 2,
      limit: { which: 'steps', limit: 1, set_by: expect.stringContaining('max-steps of the skill short') },
      reason: expect.stringContaining('steps limit of 1'),
      cost: null,
      elapsed_ms: expect.any(Number),
      waiting_for: [],
    });
    const narrow = await place.run(['session', 'tree', session], { env: { COLUMNS: '40' } });
    for (const line of narrow.stdout.trimEnd().split('\n')) expect(widthOf(line)).toBeLessThan(40);
    expect(narrow.stdout).toContain('limit:steps');
    const log = await place.run(['session', 'show', session, '--log']);
    expect(log.stdout).toMatch(/^ *1 {2}\d\d:\d\d:\d\d\.\d{3} {2}session\.started /);
    expect(log.stdout.trimEnd().split('\n').at(-1)).toContain('turn.ended');
  });

  test.skipIf(process.platform === 'win32')('Ctrl-C leaves with 130, and the run goes on', async () => {
    const { run, session, letGo } = await begun('left');
    const follow = place.start(['session', 'tree', session, '--follow']);
    expect(await follow.line()).toContain(session);
    follow.process.kill('SIGINT');
    expect(await follow.ended).toMatchObject({ code: 130, stderr: '' });
    letGo();
    expect(await run.ended).toMatchObject({ code: 0 });
  });

  test('a reader that goes away ends it quietly', async () => {
    const { run, session, letGo } = await begun('unread');
    const follow = place.start(['session', 'tree', session, '--follow', '--json']);
    await follow.line();
    follow.process.stdout!.destroy();
    letGo();
    expect(await follow.ended).toMatchObject({ code: 0, stderr: '' });
    await run.ended;
  });

  const hasScript = spawnSync('script', ['--version']).status === 0;
  test.skipIf(!hasScript)('on a terminal it is drawn over itself', async () => {
    const { run, session, letGo } = await begun('drawn');
    const command = `stty cols 60 rows 20; exec ${process.execPath} ${binary} session tree ${session} --follow`;
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: place.project,
      env: { PATH: process.env.PATH, HOME: place.home, TERM: 'xterm', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let stdout = '';
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      // Drawn more than once: the second picture goes over the first.
      if (/\u001b\[\d+A\r/.test(stdout)) letGo();
    });
    const [status] = await once(terminal, 'close');
    await run.ended;
    expect(status).toBe(0);
    expect(stdout).toMatch(/\u001b\[\d+A\r/);
    expect(stdout).not.toMatch(/\u001b\[3\dm/);
    for (const line of stdout.split(/\r?\n/)) {
      const shown = line.replace(/\u001b\[[0-9]*[A-Z]/gi, '').replaceAll('\r', '');
      expect(widthOf(shown)).toBeLessThan(60);
    }
  });
});

test.each([
  [['run', 'endless', '--max-steps', '2'], 'steps limit of 2 reached (set by --max-steps)'],
  [['run', 'endless', '--max-tokens', '2000'], 'tokens limit of 2000 reached (set by --max-tokens)'],
  [['run', 'endless', '--timeout', '400ms'], 'time limit of 0.4 s reached (set by --timeout)'],
  [['run', '/quick x', '--max-spawns', '0'], 'spawns limit of 0 reached (set by --max-spawns)'],
  [['run', '--skill', 'quick', 'x', '--max-depth', '0'], 'depth limit of 0 reached (set by --max-depth)'],
  [['skill', 'run', 'quick', 'x', '-e', 'agent.max_spawns=0'], 'spawns limit of 0 reached (set by agent.max_spawns, '],
])('reasonix %j ends with 3 and says which limit it was', async (args, says) => {
  const { code, stdout } = await place.run([...args, '--output', 'json']);
  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({ status: 'limit', error: expect.stringContaining(says) });
});
