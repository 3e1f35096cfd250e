import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { serveMcp } from '../../src/mcp/serve.ts';
import { built, Workplace } from '../cli/workplace.ts';
import { type Connected, type ConnectOptions, connect, fileIn, logOf, SCRIPT } from './client.ts';

// Each starts several processes, beside those of other files.
vi.setConfig({ testTimeout: 120_000 });

let place: Workplace;
const open: Connected[] = [];
beforeAll(built);
beforeEach(() => {
  place = new Workplace(SCRIPT);
  place.skill('dig', 'description: Digs.\nrunAs: subagent');
  place.skill('outer', 'description: Delegates.\nrunAs: subagent');
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
  place.remove();
});

async function server(args: readonly string[] = [], options: ConnectOptions = {}): Promise<Connected> {
  const connected = await connect(place, args, options);
  open.push(connected);
  return connected;
}

/** A call whose innermost model has been asked and says nothing; the references of its sub-agents. */
async function hanging({ run }: Connected, skill: string, deepest: string, signal?: AbortSignal) {
  const refs: string[] = [];
  let ended: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    const onprogress = ({ message = '' }: { message?: string | undefined }) => {
      const [, path = '', ref = ''] = /^(.*): started (sa_\w+)$/.exec(message) ?? [];
      if (ref !== '') refs.push(ref);
      if (path.endsWith(deepest)) resolve();
    };
    ended = run({ name: skill, arguments: 'hang' }, { onprogress, ...(signal ? { signal } : {}) });
    ended.catch(reject);
  });
  return { refs, ended: ended.catch((error: unknown) => error) };
}

interface Listed {
  sessions: { session: string; status: string; kind: string }[];
}
const states = async () =>
  (await place.json<Listed>(['session', 'list', '--all', '--json'])).sessions.map(({ status }) => status);

async function gone(pid: number, within: number): Promise<boolean> {
  for (const end = Date.now() + within; Date.now() < end; await delay(20)) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
  }
  return false;
}

test('a call that the client cancels ends within a second, with everything below it', async () => {
  const connected = await server();
  const stop = new AbortController();
  const { refs, ended } = await hanging(connected, 'outer', 'dig', stop.signal);
  stop.abort(new Error('enough'));
  const at = Date.now();
  await ended;
  while (!(await connected.call('list_subagents')).text.includes('cancelled')) await delay(20);
  for (const log of await Promise.all(refs.map((ref) => logOf(place, ref)))) {
    const end = log.at(-1);
    expect(end).toMatchObject({ type: 'turn.ended', reason: 'the client cancelled the call' });
    expect(Date.parse(String(end?.at)) - at).toBeLessThan(1_000);
  }
  expect(await states()).toEqual(['cancelled', 'cancelled', 'cancelled']);
  expect((await connected.run({ name: 'dig', arguments: 'gold' })).run.status).toBe('completed');
});

test('a cancelled thread is gone on with', async () => {
  const connected = await server();
  const stop = new AbortController();
  const { refs, ended } = await hanging(connected, 'dig', 'dig', stop.signal);
  stop.abort();
  await ended;
  for (let tries = 0; tries < 50; tries++) {
    const { run, isError } = await connected.run({ name: 'dig', arguments: 'gold', continue_from: refs[0] });
    if (isError) await delay(20);
    else return expect(run.answer).toBe('heard gold in turn 2, first hang');
  }
  throw new Error('the thread stayed busy');
});

test('the end of stdin ends the server; what ran is cancelled and written down', async () => {
  const connected = await server();
  const { refs } = await hanging(connected, 'outer', 'dig');
  void connected.client.close();
  expect(await gone(connected.pid, 5_000)).toBe(true);
  // A client of the SDK sends SIGTERM as well when the end takes more than two seconds.
  const [outer] = await Promise.all(refs.map((ref) => logOf(place, ref)));
  expect(outer?.at(-1)).toMatchObject({ type: 'turn.ended', reason: 'the client closed the connection' });
  expect(await states()).toEqual(['cancelled', 'cancelled', 'cancelled']);
});

test.skipIf(process.platform === 'win32')('SIGTERM does the same', async () => {
  const connected = await server();
  await hanging(connected, 'dig', 'dig');
  process.kill(connected.pid, 'SIGTERM');
  expect(await gone(connected.pid, 5_000)).toBe(true);
  expect(await states()).toEqual(['cancelled', 'cancelled']);
});

test.skipIf(process.platform === 'win32')(
  'killed in the middle: the next server finishes the call and goes on',
  async () => {
    const killed = await server();
    const { refs } = await hanging(killed, 'outer', 'dig');
    const done = await killed.run({ name: 'dig', arguments: 'gold' });
    process.kill(killed.pid, 'SIGKILL');
    expect(await gone(killed.pid, 5_000)).toBe(true);
    place.write('script.yaml', SCRIPT.replaceAll('faults: { hang: true, times: always }', 'text: "woke up"'));
    const next = await server();
    const { text: before } = await next.call('list_subagents');
    expect(before).toContain(`${refs[0]} · outer · interrupted`);
    expect(before).toContain(`${done.run.ref} · dig · completed`);
    const { texts, isError, run } = await next.run({ name: 'outer', arguments: 'gold', continue_from: refs[0] });
    expect(isError).toBe(false);
    expect(texts).toHaveLength(2);
    expect(texts[0]).toContain('woke up');
    expect(run).toMatchObject({ ref: refs[0], status: 'completed', answer: expect.stringContaining('heard gold') });
    // The child below went on where it was: it was not started again.
    const [outer, dig] = await Promise.all(refs.map((ref) => logOf(place, ref)));
    const types = (log: typeof outer, type: string) => log?.filter((event) => event.type === type).length;
    expect([types(outer, 'session.started'), types(dig, 'session.started')]).toEqual([1, 1]);
    expect(types(dig, 'user.message')).toBe(1);
    expect((await states()).sort()).toEqual(Array(6).fill('completed'));
  },
);

test('a turn of a session of its own model that was cut is left to a person', async () => {
  place.write(
    'script.yaml',
    SCRIPT.replace(
      '  - name: root\n',
      '  - { name: delegate, when: { kind: root, turn_step: 1 }, calls: [{ name: run_skill, arguments: { name: dig, arguments: gold } }] }\n  - name: root\n    faults: { hang: true, times: always }\n',
    ),
  );
  const run = place.start(['run', '--output', 'stream-json', 'task']);
  let ref = '';
  for (let line = await run.line(); line !== undefined; line = await run.line()) {
    const event = JSON.parse(line) as { type: string; child?: string };
    if (event.type === 'tool.result' && event.child) {
      ref = event.child;
      break;
    }
  }
  const connected = await server();
  const input = { name: 'dig', arguments: 'x', continue_from: ref };
  expect((await connected.run(input)).text).toContain('is at work right now');
  run.process.kill('SIGKILL');
  await run.ended;
  expect((await connected.run(input)).text).toMatch(/cut in the middle .*reasonix session resume s_/);
});

describe('a client that is odd', () => {
  test('never answers a question: the call can be cancelled, and others go on', async () => {
    let asked = () => {};
    const wasAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const connected = await server([], {
      elicit: () => {
        asked();
        return new Promise<never>(() => {});
      },
    });
    const stop = new AbortController();
    const call = connected.run({ name: 'dig', arguments: 'write' }, { signal: stop.signal }).catch(() => 'cancelled');
    await wasAsked;
    expect((await connected.run({ name: 'dig', arguments: 'gold' })).run.status).toBe('completed');
    stop.abort();
    expect(await call).toBe('cancelled');
    void connected.client.close();
    expect(await gone(connected.pid, 5_000)).toBe(true);
    expect(existsSync(fileIn(place, 'out.txt'))).toBe(false);
    expect((await states()).sort()).toEqual(['cancelled', 'cancelled', 'completed', 'completed']);
  });

  const request = (id: number, method: string, params: object = {}) =>
    `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
  const hello = request(0, 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  });

  test('sends what is no message: it is told on stderr, and stdout holds nothing but the protocol', async () => {
    const input = `${hello}what?\n{"jsonrpc":"2.0"}\n\n${request(1, 'tools/list')}${request(2, 'nonsense')}`;
    const raw = place.start(['mcp']);
    raw.process.stdin?.write(input);
    const ids = new Set<unknown>();
    while (ids.size < 3) {
      const line = await raw.line();
      if (line === undefined) throw new Error(`it ended early:\n${(await raw.ended).stderr}`);
      ids.add((JSON.parse(line) as { id: unknown }).id);
    }
    raw.process.stdin?.end();
    const { code, stdout, stderr } = await raw.ended;
    expect([...ids].sort()).toEqual([0, 1, 2]);
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    expect(stderr).toContain('MCP:');
    expect(code).toBe(0);
  });

  test('sends a message that nothing holds: the server ends', async () => {
    const input = new PassThrough();
    const problems: string[] = [];
    const served = serveMcp({
      version: '1',
      cwd: place.project,
      open: () => Promise.reject(new Error('nobody calls anything')),
      input,
      output: new PassThrough(),
      signal: new AbortController().signal,
      onProblem: (text) => void problems.push(text),
    });
    input.write('x'.repeat(11 * 1024 * 1024));
    await served;
    expect(problems.join()).toMatch(/MCP: .*exceeded/);
  });

  test('never reads: the server still ends with its stdin', async () => {
    const raw = place.start(['mcp']);
    raw.process.stdout?.pause();
    raw.process.stdin?.write(hello);
    for (let id = 1; id <= 40; id++) raw.process.stdin?.write(request(id, 'tools/list'));
    await delay(500);
    raw.process.stdin?.end();
    expect(await gone(raw.process.pid ?? -1, 30_000)).toBe(true);
  });
});

test('a configuration that does not hold is said at once', async () => {
  place.write('reasonix.toml', 'modell = "x"\n');
  const { code, stdout, stderr } = await place.run(['mcp'], { input: '' });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('modell');
});
