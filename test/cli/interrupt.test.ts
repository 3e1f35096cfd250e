import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { built, Workplace } from './workplace.ts';

const SCRIPT = `
rules:
  - name: hanging child
    when: { kind: child, user: hang }
    faults: { hang: true, times: 1 }
  - name: child
    when: { kind: child }
    text: "the child is done"
  - name: delegate
    when: { user: delegate, turn_step: 1 }
    calls: [{ name: run_skill, arguments: { name: helper, arguments: "hang" } }]
  - name: hang
    when: { user: hang }
    faults: { hang: true, times: 1 }
  - name: deaf
    when: { user: deaf, turn_step: 1 }
    calls: [{ name: shell, arguments: { command: "trap '' TERM INT; echo begun > begun.txt; sleep 60" } }]
  - name: answer
    text: "answer to {{user}} in turn {{turn}}"
`;

/** The same script, of a server that answers again. */
const awake = SCRIPT.replaceAll('faults: { hang: true, times: 1 }', 'text: "answer to {{user}} in turn {{turn}}"');

let place: Workplace;
beforeAll(built);
beforeEach(() => {
  place = new Workplace(SCRIPT);
  place.skill('helper', 'description: Helps.\nrunAs: subagent');
});
afterEach(() => place.remove());

interface Listed {
  sessions: { session: string; status: string; kind: string }[];
}
const sessions = async () => (await place.json<Listed>(['session', 'list', '--all', '--json'])).sessions;

/** A run whose model has been asked and says nothing. */
async function hanging(task: string) {
  const run = place.start(['run', '--output', 'stream-json', task]);
  for (let line = await run.line(); line !== undefined; line = await run.line()) {
    const event = JSON.parse(line) as { type: string; kind: string; content?: string; session: string };
    if (event.type === 'user.message' && event.content === 'hang') return { run, session: event.session };
  }
  throw new Error(`it ended early:\n${(await run.ended).stderr}`);
}

describe.skipIf(process.platform === 'win32')('a run that is stopped', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('by %s writes its end down and can go on', async (signal) => {
    const { run, session } = await hanging('hang');
    run.process.kill(signal);
    const { code, stdout } = await run.ended;
    expect(code).toBe(130);
    expect(stdout.trimEnd().split('\n').at(-1)).toContain('"status":"cancelled"');
    expect(await sessions()).toMatchObject([{ session, status: 'cancelled' }]);
    const nothing = await place.run(['run', '--continue']);
    expect(nothing).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`turn of session ${session} was cancelled`),
    });
    expect(nothing.stderr).toContain(`say how to go on: reasonix run --resume ${session} "…"`);
    expect((await place.run(['run', '--resume', session, 'go on'])).stdout).toBe('answer to go on in turn 2\n');
  });

  test('stops its children, which are cancelled too', async () => {
    const { run } = await hanging('delegate');
    run.process.kill('SIGINT');
    expect((await run.ended).code).toBe(130);
    const all = await sessions();
    expect(all).toHaveLength(2);
    for (const each of all) expect(each.status).toBe('cancelled');
  });

  test('twice leaves at once, and the turn can be finished later', async () => {
    const run = place.start(['run', '--yes', 'deaf']);
    while (!existsSync(join(place.project, 'begun.txt'))) await delay(50);
    run.process.kill('SIGINT');
    await run.said('press Ctrl-C again');
    run.process.kill('SIGINT');
    const { code, stderr } = await run.ended;
    expect(code).toBe(130);
    // The command ignores the first signal for longer than this took.
    expect(stderr).not.toContain('cancelled');
    expect(await sessions()).toMatchObject([{ status: 'interrupted' }]);
  });

  test('by kill -9 is finished by --resume without a task', async () => {
    const { run, session } = await hanging('hang');
    run.process.kill('SIGKILL');
    await run.ended;
    expect(await sessions()).toMatchObject([{ session, status: 'interrupted' }]);
    place.write('script.yaml', awake);
    const { code, stdout } = await place.run(['run', '--resume', session]);
    expect([code, stdout]).toEqual([0, 'answer to hang in turn 1\n']);
  });

  test('a child that was cut is continued and not started again', async () => {
    const { run } = await hanging('delegate');
    run.process.kill('SIGKILL');
    await run.ended;
    place.write('script.yaml', awake);
    const root = (await sessions()).find(({ kind }) => kind === 'root')!;
    const { code, stdout, stderr } = await place.run(['run', '--resume', root.session]);
    expect([code, stdout]).toEqual([0, 'answer to delegate in turn 1\n']);
    expect(stderr).toMatch(/helper sa_[0-9a-z]{26} completed/);
    expect(await sessions()).toHaveLength(2);
  });

  test('a session that runs cannot be run or removed by another process', async () => {
    const { run, session } = await hanging('hang');
    for (const args of [
      ['run', '--resume', session, 'x'],
      ['session', 'rm', session, '--yes'],
    ]) {
      const { code, stderr } = await place.run(args);
      expect(code).toBe(1);
      expect(stderr).toContain(`is being run by process ${run.process.pid}`);
    }
    expect((await place.run(['session', 'show', session])).stdout).toContain('running');
    run.process.kill('SIGKILL');
    await run.ended;
  });
});
