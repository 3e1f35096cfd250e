import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { memoryStore } from '../../src/store/memory.ts';
import { defineTool, type Tool } from '../../src/tools/define-tool.ts';
import { bytesOf, call, engine, newSession, reopened, resume, turn } from './engine-host.ts';

/** Tools that note when they begin and end. */
function noted(log: string[]): Tool[] {
  const tool = (name: string, effects: 'read' | 'write') =>
    defineTool({
      name,
      description: name,
      input: z.object({ id: z.string(), ms: z.number().default(0), fail: z.boolean().default(false) }),
      effects,
      async execute({ id, ms, fail }, { signal }) {
        log.push(`+${id}`);
        await delay(ms, undefined, { signal });
        log.push(`-${id}`);
        if (fail) throw new Error(`${id} broke`);
        return `${id} done`;
      },
    });
  return [tool('look', 'read'), tool('change', 'write')];
}

describe('a turn', () => {
  it('asks, runs what was asked for, asks again and ends with the answer', async () => {
    const bench = engine(({ messages }) => {
      const last = messages.at(-1);
      return last?.role === 'tool' ? { text: `got ${last.content}` } : { calls: [call('look', { id: 'a' })] };
    }, noted([]));
    const session = await newSession(bench);
    const result = await turn(session, 'go');
    expect(result).toMatchObject({ status: 'completed', answer: 'got a done', steps: 2 });
    const types = (await bench.store.read(session.id)).map((event) => event.type);
    expect(types).toEqual([
      'session.started',
      'user.message',
      'assistant.message',
      'tool.result',
      'assistant.message',
      'turn.ended',
    ]);
  });

  it('runs reads side by side, makes a write a barrier, and sends results in call order', async () => {
    const log: string[] = [];
    const bench = engine(({ messages }) => {
      if (messages.length > 1)
        return messages.flatMap((message) => (message.role === 'tool' ? [message.content] : [])).join();
      return {
        calls: [
          call('look', { id: 'a', ms: 40 }),
          call('look', { id: 'b' }),
          call('change', { id: 'c', ms: 5 }),
          call('look', { id: 'd' }),
        ],
      };
    }, noted(log));
    const result = await turn(await newSession(bench), 'go');
    expect(result.answer).toBe('a done,b done,c done,d done');
    expect(log).toEqual(['+a', '+b', '-b', '-a', '+c', '-c', '+d', '-d']);
  });

  it('F20: one failing call is one failed result; its siblings go on', async () => {
    const bench = engine(({ messages }) => {
      if (messages.length > 1)
        return messages
          .flatMap((message) => (message.role === 'tool' ? [`${message.isError}:${message.content}`] : []))
          .join();
      return {
        calls: [
          call('look', { id: 'a', ms: 10 }),
          call('look', { id: 'b', fail: true }),
          call('look', { id: 'c', ms: 10 }),
        ],
      };
    }, noted([]));
    expect((await turn(await newSession(bench), 'go')).answer).toBe('false:a done,true:b broke,false:c done');
  });

  it('tells the model what was wrong with a call, and takes arguments that are encoded twice', async () => {
    const bench = engine(({ messages }) => {
      if (messages.length > 1)
        return messages.flatMap((message) => (message.role === 'tool' ? [message.content] : [])).join('\n');
      return {
        calls: [
          { name: 'look', arguments: '{"id":' },
          call('look', { id: 7 }),
          call('nothing', {}),
          { name: 'look', arguments: JSON.stringify(JSON.stringify({ id: 'twice' })) },
        ],
      };
    }, noted([]));
    const [json, shape, unknown, twice] = (await turn(await newSession(bench), 'go')).answer.split('\n');
    expect(json).toMatch(/not valid JSON.*"id"/);
    expect(shape).toMatch(/id: .*string.*Expected arguments of this shape/);
    expect(unknown).toContain('Call one of: look, change');
    expect(twice).toBe('twice done');
  });

  it('gives calls whose ids repeat ids of their own', async () => {
    let step = 0;
    const bench = engine(() => (++step < 3 ? { calls: [call('look', { id: `x${step}` }, 'same')] } : 'end'), noted([]));
    const session = await newSession(bench);
    await turn(session, 'go');
    const ids = (await bench.store.read(session.id)).flatMap((event) =>
      event.type === 'tool.result' ? [event.call] : [],
    );
    expect(new Set(ids).size).toBe(2);
  });

  it('tells calls of one reply apart that a server gave one id', async () => {
    const calls = ['a', 'b', 'c'].map((id) => call('look', { id }, 'same'));
    const bench = engine(({ messages }) => (messages.length === 1 ? { calls } : 'end'), noted([]));
    await turn(await newSession(bench), 'go');
    const results = bench.model.requests[1]?.messages.flatMap((message) => (message.role === 'tool' ? [message] : []));
    expect(results?.map(({ content }) => content)).toEqual(['a done', 'b done', 'c done']);
    expect(new Set(results?.map(({ callId }) => callId)).size).toBe(3);
  });

  it('logs only well-formed Unicode, whatever the model and the user write', async () => {
    const half = '🎯'.slice(0, 1);
    const bench = engine(
      ({ messages }) =>
        messages.length === 1
          ? { text: `t${half}`, reasoning: `r${half}`, calls: [call(`look${half}`, { id: half }, `i${half}`)] }
          : `end ${half}`,
      noted([]),
    );
    const session = await newSession(bench);
    expect((await turn(session, `go ${half}`)).answer).toBe('end \ufffd');
    const texts = (await bench.store.read(session.id)).map((event) => JSON.stringify(event));
    // As an escape inside the text of arguments it is well-formed here; the wires mend it.
    expect(texts.filter((text) => /[^\\]\\ud83c/i.test(text))).toEqual([]);
  });

  it('repeats no megabytes in what it says about a call', async () => {
    const long = 'n'.repeat(1_000_000);
    const bench = engine(
      ({ messages }) => (messages.length === 1 ? { calls: [call(long, {}), call('look', { [long]: 1 })] } : 'end'),
      noted([]),
    );
    await turn(await newSession(bench), 'go');
    const results = bench.model.requests[1]?.messages.flatMap((message) => (message.role === 'tool' ? [message] : []));
    expect(results?.map(({ content }) => content.length < 10_000)).toEqual([true, true]);
  });

  it('runs many reads of one step without opening everything at once', async () => {
    let [now, most] = [0, 0];
    const slow = defineTool({
      name: 'slow',
      description: 'slow',
      input: z.object({}),
      effects: 'read',
      execute: async () => {
        most = Math.max(most, ++now);
        await delay(2);
        now--;
        return 'ok';
      },
    });
    const calls = Array.from({ length: 300 }, () => call('slow', {}));
    const bench = engine(({ messages }) => (messages.length === 1 ? { calls } : 'end'), [slow]);
    expect((await turn(await newSession(bench), 'go')).status).toBe('completed');
    expect(most).toBe(32);
  });

  it.each([
    ['reasoning only', { reasoning: 'hm' }],
    ['white space only', { text: ' \n' }],
    ['nothing', { text: '' }],
  ])('F13: an empty reply (%s) is nudged once, then the turn has no answer', async (_, reply) => {
    const bench = engine(() => reply);
    const session = await newSession(bench);
    const result = await turn(session, 'go');
    expect(result).toMatchObject({ status: 'no_answer', answer: '' });
    expect(bench.model.requests).toHaveLength(2);
    expect(bench.model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'user', origin: 'nudge' });
  });

  it('F13: findings said before a last empty reply are the answer', async () => {
    const bench = engine(
      ({ messages }) => (messages.length === 1 ? { text: 'Findings: 3', calls: [call('look', { id: 'a' })] } : ''),
      noted([]),
    );
    expect(await turn(await newSession(bench), 'go')).toMatchObject({ status: 'completed', answer: 'Findings: 3' });
  });

  it('each request begins with the bytes of the one before it', async () => {
    const bench = engine(
      ({ messages }) =>
        messages.length < 30 ? { calls: [call('look', { id: 'a' }), call('look', { id: 'b' })] } : 'end',
      noted([]),
    );
    const session = await newSession(bench);
    await turn(session, 'go');
    await turn(session, 'more');
    const bytes = bench.model.requests.map(bytesOf);
    expect(bytes.length).toBeGreaterThan(10);
    for (const [index, text] of bytes.entries())
      if (index > 0) expect(text.startsWith(bytes[index - 1] ?? '?')).toBe(true);
  });
});

describe('limits', () => {
  it('F15: a limit grants one last step without tools, and says which limit it was', async () => {
    const bench = engine(
      ({ toolChoice }) =>
        toolChoice === 'none' ? 'so far: a' : { text: 'working', calls: [call('look', { id: 'a' })] },
      noted([]),
    );
    const result = await turn(await newSession(bench), 'go', { limits: { steps: 3 } });
    expect(result).toMatchObject({
      status: 'limit',
      answer: 'so far: a',
      steps: 4,
      limit: { which: 'steps', limit: 3, setBy: 'the test' },
    });
    const last = bench.model.requests.at(-1);
    expect(last?.tools).toEqual(bench.model.requests[0]?.tools);
  });

  it('keeps what was said when the summing-up says nothing', async () => {
    const bench = engine(
      ({ toolChoice }) => (toolChoice === 'none' ? '' : { text: 'part one', calls: [call('look', { id: 'a' })] }),
      noted([]),
    );
    expect(await turn(await newSession(bench), 'go', { limits: { steps: 1 } })).toMatchObject({
      status: 'limit',
      answer: 'part one',
    });
  });

  it('F12: a time limit stops a slow tool and still sums up', async () => {
    const bench = engine(
      ({ toolChoice }) =>
        toolChoice === 'none' ? 'stopped in time' : { calls: [call('look', { id: 'a', ms: 60_000 })] },
      noted([]),
    );
    const session = await newSession(bench);
    const result = await turn(session, 'go', { limits: { time: 50 } });
    expect(result).toMatchObject({ status: 'limit', answer: 'stopped in time', limit: { which: 'time' } });
    expect(session.thread.openCalls.size).toBe(0);
  });

  it('a token limit counts every token once', async () => {
    const usage = { input: 90, output: 10 };
    const bench = engine(
      ({ toolChoice }) =>
        toolChoice === 'none' ? { text: 'end', usage } : { calls: [call('look', { id: 'a' })], usage },
      noted([]),
    );
    const result = await turn(await newSession(bench), 'go', { limits: { tokens: 250 } });
    expect(result).toMatchObject({ status: 'limit', steps: 4, limit: { which: 'tokens' } });
  });
});

describe('cancel', () => {
  it('stops tools, answers every call, and is written down; nothing runs after it', async () => {
    const log: string[] = [];
    const bench = engine(
      () => ({ text: 'on it', calls: [call('look', { id: 'a', ms: 60_000 }), call('change', { id: 'b' })] }),
      noted(log),
    );
    const session = await newSession(bench);
    const controller = new AbortController();
    const running = turn(session, 'go', { signal: controller.signal });
    while (!log.includes('+a')) await delay(1);
    controller.abort();
    expect(await running).toMatchObject({ status: 'cancelled', answer: 'on it' });
    expect(log).toEqual(['+a']);
    expect(bench.model.requests).toHaveLength(1);
    const results = (await bench.store.read(session.id)).filter((event) => event.type === 'tool.result');
    expect(results).toHaveLength(2);
  });

  it('F01: after a cancel the next request pairs every call with a result, in order', async () => {
    let first = true;
    const bench = engine(() => {
      if (!first) return 'went on';
      first = false;
      return { calls: [call('look', { id: 'a' }, 't1'), call('look', { id: 'b', ms: 60_000 }, 't2')] };
    }, noted([]));
    const session = await newSession(bench);
    const controller = new AbortController();
    const running = turn(session, 'go', { signal: controller.signal });
    while (session.thread.openCalls.size !== 1) await delay(1);
    controller.abort();
    await running;
    expect((await turn(session, 'continue')).answer).toBe('went on');
    const messages = bench.model.requests.at(-1)?.messages ?? [];
    expect(messages.slice(1, 4)).toMatchObject([
      { role: 'assistant' },
      { role: 'tool', callId: 't1', content: 'a done' },
      { role: 'tool', callId: 't2', isError: true },
    ]);
  });

  it('ends although a tool ignores the signal', { timeout: 20_000 }, async () => {
    const deaf = defineTool({
      name: 'deaf',
      description: 'never ends',
      input: z.object({}),
      effects: 'read',
      execute: () => new Promise<string>(() => {}),
    });
    const bench = engine(() => ({ calls: [call('deaf', {})] }), [deaf]);
    const controller = new AbortController();
    const session = await newSession(bench);
    const running = turn(session, 'go', { signal: controller.signal });
    while (session.thread.openCalls.size !== 1) await delay(1);
    controller.abort();
    expect(await running).toMatchObject({ status: 'cancelled' });
  });
});

describe('recovery of a turn that was cut', () => {
  /** Runs the turn against a store that fails after so many appends, as a kill would leave it. */
  async function cutAfter(appends: number, log: string[]) {
    const store = memoryStore();
    const script = ({ messages }: { messages: { role: string }[] }) => {
      const results = messages.filter((message) => message.role === 'tool').length;
      if (results === 0) return { calls: [call('look', { id: 'r' }), call('change', { id: 'w1' })] };
      if (results === 2) return { calls: [call('change', { id: 'w2' })] };
      return `all ${results}`;
    };
    let left = appends;
    const failing = new Proxy(store, {
      get(target, key) {
        const value = Reflect.get(target, key) as unknown;
        if (key === 'append') {
          return (...input: Parameters<typeof store.append>) => {
            if (left-- <= 0) return Promise.reject(new Error('killed here'));
            return target.append(...input);
          };
        }
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const bench = engine(script, noted(log), { store: failing });
    const session = await newSession(bench).catch(() => undefined);
    if (session) await turn(session, 'go').catch(() => {});
    left = Number.POSITIVE_INFINITY;
    return { bench, id: session?.id, store };
  }

  it('finishes from every event boundary; no write runs twice', async () => {
    let cuts = 0;
    for (let appends = 2; appends < 14; appends++) {
      const log: string[] = [];
      const { bench, id } = await cutAfter(appends, log);
      const session = await reopened(bench, id ?? '');
      if (!session.thread.turn) continue;
      cuts++;
      expect(await resume(session)).toMatchObject({ status: 'completed', answer: 'all 3' });
      for (const write of ['w1', 'w2'])
        expect(log.filter((line) => line === `+${write}`).length).toBeLessThanOrEqual(1);
      const events = await bench.store.read(session.id);
      const results = events.filter((event) => event.type === 'tool.result').map((event) => event.call);
      expect(new Set(results).size).toBe(results.length);
    }
    expect(cuts).toBeGreaterThan(6);
  });

  it('does not ask the model again for an answer that was logged', async () => {
    const log: string[] = [];
    const { bench, id } = await cutAfter(10, log);
    const session = await reopened(bench, id ?? '');
    const last = (await bench.store.read(session.id)).at(-1);
    expect(last).toMatchObject({ type: 'assistant.message', text: 'all 3' });
    const asked = bench.model.requests.length;
    expect(await resume(session)).toMatchObject({ answer: 'all 3' });
    expect(bench.model.requests.length).toBe(asked);
  });
});

it('refuses a second turn at once, and a session that another writer holds', async () => {
  const bench = engine(() => ({ text: 'slow', latency: 30 }));
  const session = await newSession(bench);
  const running = turn(session, 'one');
  await expect(turn(session, 'two')).rejects.toMatchObject({ code: 'session_busy' });
  await running;
  const other = engine(() => 'x', [], { store: bench.store, owner: 'elsewhere:1:1:b' });
  const copy = await reopened(other, session.id);
  await copy.claim();
  await expect(turn(session, 'three')).rejects.toMatchObject({ code: 'session_busy' });
});
