import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src/models/contract.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { built, Workplace } from '../cli/workplace.ts';
import { call, workshop } from '../runtime/workshop.ts';

/** From the signal until nothing is left, in milliseconds. */
const MOST = 1_000;

/** Runs of the real program that are cancelled; each takes a second of CPU to begin. `npm run faults` does 100. */
const CANCELS = Number(process.env.FAULTS_CANCELS ?? 12);

/** For the real program; beside other test files, whose processes are many, it may have to wait for a core. */
const MOST_OF_PROGRAM = process.env.FAULTS_CANCELS === undefined ? 3 * MOST : MOST;

/** Runs that begin side by side, which is what takes time; they are cancelled one after the other. */
const AT_ONCE = 6;

/** The time from an abort to the end of the turn, with children three deep that wait for a model and a tool. */
async function cancelOnce(open: Awaited<ReturnType<typeof opened>>): Promise<number> {
  const { runtime, waiting } = open;
  const session = await runtime.session();
  const controller = new AbortController();
  const running = session.send('go', { signal: controller.signal }).result;
  while (waiting.size < 3) await new Promise(setImmediate);
  const begun = performance.now();
  controller.abort();
  const run = await running;
  const took = performance.now() - begun;
  expect([run.status, waiting.size]).toEqual(['cancelled', 0]);
  expect(new Set(run.subagents.map(({ status }) => status))).toEqual(new Set(['cancelled']));
  const { sessions } = await runtime.store.list({ root: session.id });
  expect(sessions.map(({ status, holder }) => `${status} ${holder ?? 'free'}`)).toEqual(
    sessions.map(() => 'cancelled free'),
  );
  return took;
}

/** Two children of one that hang in a tool, and one that hangs in its model; `waiting` are those that do. */
async function opened() {
  const shop = workshop();
  shop.skill('deep', { runAs: 'subagent' }, 'Deep.');
  const waiting = new Set<string>();
  const hang = async (session: string, signal: AbortSignal) => {
    waiting.add(session);
    try {
      await delay(60_000, undefined, { signal });
    } finally {
      waiting.delete(session);
    }
    return 'never';
  };
  const slow = defineTool({
    name: 'slow',
    description: 'Slow.',
    input: z.object({}),
    effects: 'write',
    execute: (_, { session, signal }) => hang(session, signal),
  });
  const calls = (request: ModelRequest) => {
    const [first] = request.messages;
    const task = first?.role === 'user' ? first.content : '';
    const run = (name: string) => call('run_skill', { name: 'deep', arguments: name });
    if (task === 'go') return [run('one'), run('two')];
    return task === 'one' ? [run('three'), run('four')] : [call('slow', {})];
  };
  const { runtime } = await shop.open((request) => ({ calls: calls(request) }), { tools: [slow], yes: true });
  return { runtime, waiting };
}

it('an abort ends a tree within a second, 100 times in a row', { timeout: 120_000 }, async () => {
  const open = await opened();
  const times: number[] = [];
  for (let round = 0; round < 100; round++) times.push(await cancelOnce(open));
  expect(times.filter((time) => time > MOST)).toEqual([]);
});

const HELPER = 'description: Helps.\nrunAs: subagent';

const toolCall = (name: string, input: unknown) => ({
  id: 'call_1',
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
});

describe.skipIf(process.platform !== 'linux')('Ctrl-C', () => {
  let place: Workplace;
  let server: Server;
  /** Requests without an answer, a run. */
  let open: Map<number, Set<unknown>>;
  const openOf = (run: number) => open.get(run) ?? new Set();

  beforeAll(built);
  beforeEach(async () => {
    open = new Map();
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] };
      const [task = '', run = ''] = (messages.find(({ role }) => role === 'user')?.content ?? '').split(' ');
      const helper = (name: string) => toolCall('run_skill', { name: 'helper', arguments: `${name} ${run}` });
      // A child that runs a command, and one whose child waits for an answer that does not come.
      const calls: Record<string, object[]> = {
        go: [helper('command'), { ...helper('nested'), id: 'call_2' }],
        nested: [helper('silent')],
        command: [toolCall('shell', { command: `echo $$ > ${run}.pid; sleep 300 & wait` })],
      };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const asked = calls[task];
      if (!asked) {
        const waiting = openOf(Number(run)).add(response);
        open.set(Number(run), waiting);
        response.on('close', () => waiting.delete(response));
        response.write(': nothing yet\n\n');
        return;
      }
      const delta = { tool_calls: asked.map((one, index) => ({ index, ...one })) };
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
      const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
      response.end(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    place = new Workplace();
    place.skill('helper', HELPER);
    place.write(
      'reasonix.toml',
      `default_model = "local/m"\n[[providers]]\nname = "local"\nkind = "openai"\nmodels = ["m"]\nbase_url = "http://127.0.0.1:${port}/v1"\n`,
    );
  });
  afterEach(() => {
    place.remove();
    server.closeAllConnections();
    server.close();
  });

  /** Processes whose command line names the folder of the test, or that its command has started. */
  const living = (pids: readonly number[]): number[] =>
    pids.filter((pid) => {
      try {
        process.kill(pid, 0);
        return !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
      } catch {
        return false;
      }
    });

  /** A run that has come to where everything waits. */
  async function begun(number: number) {
    const run = place.start(['run', '--yes', `go ${number}`]);
    let failure: string | undefined;
    void run.ended.then(({ stderr }) => {
      failure = stderr;
    });
    const pid = await pidOf(join(place.project, `${number}.pid`), () => {
      if (failure !== undefined) throw new Error(`it ended by itself: ${failure}`);
      return openOf(number).size === 1;
    });
    return { number, run, family: [pid, ...childrenOf(pid)] };
  }

  it(`leaves no descendant, no request and no process after ${MOST_OF_PROGRAM} ms, ${CANCELS} times in a row`, {
    timeout: 60_000 + CANCELS * 5_000,
  }, async () => {
    const slow: string[] = [];
    for (let first = 0; first < CANCELS; first += AT_ONCE) {
      const numbers = Array.from({ length: Math.min(AT_ONCE, CANCELS - first) }, (_, index) => first + index);
      for (const { number, run, family } of await Promise.all(numbers.map(begun))) {
        const since = performance.now();
        run.process.kill('SIGINT');
        const { code, stderr } = await run.ended;
        const took = performance.now() - since;
        expect(code, stderr).toBe(130);
        let left = living(family);
        while (openOf(number).size > 0 || left.length > 0) {
          if (performance.now() - since > MOST_OF_PROGRAM) {
            slow.push(`run ${number}: ${openOf(number).size} requests, ${left} live`);
            break;
          }
          await delay(10);
          left = living(family);
        }
        if (took > MOST_OF_PROGRAM) slow.push(`run ${number}: ended after ${Math.round(took)} ms`);
      }
    }
    expect(slow).toEqual([]);
    const listed = await place.json<{ sessions: { status: string }[] }>(['session', 'list', '--all', '--json']);
    expect(new Set(listed.sessions.map(({ status }) => status))).toEqual(new Set(['cancelled']));
  });
});

/** The process that wrote its number there, once `isReady`. */
async function pidOf(file: string, isReady: () => boolean): Promise<number> {
  for (;;) {
    let text = '';
    try {
      text = readFileSync(file, 'utf8').trim();
    } catch {
      // Not written yet.
    }
    if (isReady() && text !== '') return Number(text);
    await delay(10);
  }
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number);
