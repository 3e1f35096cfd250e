import { describe, expect, it } from 'vitest';
import { ReasonixError } from '../../src/core/errors.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { Thread } from '../../src/session/thread.ts';
import { bytesOf, call, newSession, reopened, turn } from '../session/engine-host.ts';
import { bulky, checkPairs, compacting, compactionsIn, isSummary, tokensOf, wholeTexts } from './compaction-bench.ts';

/** Takes long arguments and says little. */
const echo = { ...bulky, execute: async () => 'ok' };

const steps = (requests: readonly ModelRequest[]) => requests.filter((request) => !isSummary(request));
const lookAt = (size: number, tag = '') => ({ calls: [call('bulky', { size, tag })] });

/** Asks for `count` results of a size, then answers. */
function looking(count: number, size: number, said = '') {
  let step = 0;
  return (request: ModelRequest) => {
    if (isSummary(request)) return 'SUMMARY of what was done.';
    return step++ < count ? { text: said, ...lookAt(size, `r${step}`) } : 'done';
  };
}

describe('compaction', () => {
  it('makes lines of old results first, which read_result finds whole; no model is asked', async () => {
    const bench = compacting(looking(40, 4_000), 16_000);
    const session = await newSession(bench);
    expect(await turn(session, 'the task')).toMatchObject({ status: 'completed', answer: 'done' });
    const events = await bench.store.read(session.id);
    const compactions = compactionsIn(events);
    expect(compactions.length).toBeGreaterThan(1);
    expect(bench.model.requests.filter(isSummary)).toEqual([]);
    for (const { replaced, before = 0, after = 0, reason } of compactions) {
      expect({ replaced, reason }).toEqual({ replaced: 0, reason: 'window' });
      expect(before - after).toBeGreaterThan(0.4 * 16_000 * 0.9);
    }
    const lines = steps(bench.model.requests)
      .at(-1)
      ?.messages.flatMap((message) => (message.role === 'tool' && message.content.length < 200 ? [message] : []));
    expect(lines?.length).toBeGreaterThan(20);
    expect(lines?.[0]?.content).toBe(
      `[left out to save room; read it with read_result {"id":"${lines?.[0]?.callId}"}]`,
    );
    const whole = await wholeTexts(bench.store)(session.id, lines?.[0]?.callId ?? '');
    expect(whole).toMatch(/^r1 lorem ipsum/);
    expect(whole?.length).toBeGreaterThan(4_000);
  });

  it('breaks the prefix only where it compacts, and never sends more than the window', async () => {
    const bench = compacting(looking(120, 1_500, 'I look at the next one. '.repeat(10)), 12_000);
    const session = await newSession(bench);
    await turn(session, 'the task');
    const compactions = compactionsIn(await bench.store.read(session.id)).length;
    const sent = steps(bench.model.requests);
    let breaks = 0;
    for (const [index, request] of sent.entries()) {
      checkPairs(request.messages);
      expect(tokensOf(request)).toBeLessThan(12_000);
      const before = sent[index - 1];
      if (before && !bytesOf(request).startsWith(bytesOf(before))) breaks++;
    }
    expect(breaks).toBe(compactions);
    expect(compactions).toBeLessThan(20);
  });

  it('puts a summary in the place of the oldest part: task, record, then the newest part', async () => {
    const bench = compacting(looking(200, 300, 'Some thoughts about it. '.repeat(20)), 12_000, {
      price: { input: 1, output: 10 },
    });
    const session = await newSession(bench);
    const result = await turn(session, 'the task, word for word');
    const events = await bench.store.read(session.id);
    const summed = compactionsIn(events).filter(({ replaced }) => replaced > 0);
    expect(summed.length).toBeGreaterThan(1);
    const [first, second] = summed;
    expect(first?.messages.map(({ origin }) => origin)).toEqual(['user', 'notice']);
    expect(second?.messages[0]?.content).toBe('the task, word for word');
    expect(second?.messages[1]?.content).toContain('SUMMARY of what was done.');
    const asked = bench.model.requests.filter(isSummary);
    expect(asked).toHaveLength(summed.length);
    expect(asked[1]?.messages[0]).toMatchObject({ content: expect.stringContaining('SUMMARY of what was done.') });

    // What summaries took is part of every sum.
    const spent = summed.reduce((sum, { usage }) => sum + (usage?.input ?? 0), 0);
    expect(spent).toBeGreaterThan(0);
    const answered = events.reduce(
      (sum, event) => sum + (event.type === 'assistant.message' ? event.usage.input : 0),
      0,
    );
    expect(result.usage.own.input).toBe(spent + answered);
    expect(session.thread.usage.input).toBe(spent + answered);
    expect(result.cost.own).toBeGreaterThan(spent / 1_000_000);
    expect(bench.seen.some((seen) => seen.kind === 'progress' && seen.text.includes('summing up'))).toBe(true);
  });

  it('charges summaries to the budget', async () => {
    const limits = { tokens: 1_800_000 };
    const bench = compacting(looking(2_000, 300, 'Some thoughts about it. '.repeat(20)), 12_000);
    const session = await newSession(bench);
    const result = await turn(session, 'go', { limits });
    expect(result.status).toBe('limit');
    const spent = (await bench.store.read(session.id)).flatMap((event) =>
      (event.type === 'assistant.message' || event.type === 'context.compacted') && event.usage
        ? [{ tokens: event.usage.input + event.usage.output, isSummary: event.type === 'context.compacted' }]
        : [],
    );
    const sum = (upTo: number) => spent.slice(0, upTo).reduce((total, { tokens }) => total + tokens, 0);
    const summaries = spent.filter((each) => each.isSummary).reduce((total, { tokens }) => total + tokens, 0);
    expect(summaries).toBeGreaterThan(2 * 9_600);
    // The last call sums up; the one before it passed the limit.
    expect(sum(-2)).toBeLessThan(limits.tokens);
    expect(sum(-1)).toBeGreaterThanOrEqual(limits.tokens);
  });

  it('gives another process the same messages, byte for byte, and goes on', async () => {
    const bench = compacting(looking(150, 700, 'Some thoughts about it. '.repeat(10)), 12_000);
    const session = await newSession(bench);
    await turn(session, 'one');
    const events = await bench.store.read(session.id);
    expect(compactionsIn(events).some(({ replaced }) => replaced > 0)).toBe(true);
    const folded = Thread.fold(session.id, events);
    expect(JSON.stringify(folded.messages)).toBe(JSON.stringify(session.thread.messages));
    expect(folded.size.tokens).toBe(session.thread.size.tokens);
    const again = await reopened(bench, session.id);
    expect(await turn(again, 'two')).toMatchObject({ status: 'completed' });
    const last = bench.model.requests.at(-1);
    expect(bytesOf(last as ModelRequest)).toContain('"content":"one"');
    checkPairs(last?.messages ?? []);
  });

  it('keeps the first and the newest request word for word over many turns', async () => {
    const bench = compacting((request) => {
      if (isSummary(request)) return 'SUMMARY';
      const last = request.messages.at(-1);
      return last?.role === 'tool' ? 'Seen, and these are my thoughts. '.repeat(30) : lookAt(2_000);
    }, 8_000);
    const session = await newSession(bench);
    for (let count = 1; count <= 30; count++) await turn(session, `request ${count}: ${'detail '.repeat(20)}`);
    for (let step = 0; step < 3; step++) {
      const request = steps(bench.model.requests).at(-1 - step);
      const texts = request?.messages.flatMap((message) => (message.role === 'user' ? [message.content] : [])) ?? [];
      expect(texts[0]).toBe(`request 1: ${'detail '.repeat(20)}`);
    }
    expect(JSON.stringify(steps(bench.model.requests).at(-1)?.messages)).toContain('request 30: detail');
    expect(compactionsIn(await bench.store.read(session.id)).some(({ replaced }) => replaced > 0)).toBe(true);
  });
});

describe('what a summary may come to', () => {
  const failing = (reply: () => string | { faults: { status: number; times: 'always' } }) => {
    let step = 0;
    return (request: ModelRequest) => {
      if (isSummary(request)) return reply();
      return step++ < 150 ? { text: `Thought ${step}. ${'And so on. '.repeat(40)}`, ...lookAt(300) } : 'done';
    };
  };

  it.each([
    ['fails', () => ({ faults: { status: 500, times: 'always' as const } })],
    ['is empty', () => ' '],
  ])('goes on with a list of steps when it %s', async (_, reply) => {
    const bench = compacting(failing(reply), 12_000);
    const session = await newSession(bench);
    expect(await turn(session, 'the task')).toMatchObject({ status: 'completed', answer: 'done' });
    const summed = compactionsIn(await bench.store.read(session.id)).filter(({ replaced }) => replaced > 0);
    expect(summed.length).toBeGreaterThan(0);
    expect(summed[0]?.messages.at(-1)?.content).toMatch(/No summary could be made.*\n- /);
    expect(summed[0]?.messages.at(-1)?.content).toContain('- bulky {"size":300');
    expect(Math.max(...steps(bench.model.requests).map(tokensOf))).toBeLessThan(12_000);
  });

  it('goes on with a list of steps when it is longer than what it replaces', async () => {
    let step = 0;
    const bench = compacting(
      (request) => {
        if (isSummary(request)) return 'blah '.repeat(10_000);
        return step++ < 60 ? lookAt(10, 'x'.repeat(1_500)) : 'done';
      },
      12_000,
      { tools: [echo] },
    );
    const session = await newSession(bench);
    expect(await turn(session, 'the task')).toMatchObject({ status: 'completed', answer: 'done' });
    const summed = compactionsIn(await bench.store.read(session.id)).filter(({ replaced }) => replaced > 0);
    expect(summed.some(({ usage }) => usage)).toBe(true);
    for (const { messages } of summed) expect(messages.at(-1)?.content).not.toContain('blah');
  });

  it('stops with the turn: a cancelled summary leaves nothing behind', async () => {
    const stop = new AbortController();
    let step = 0;
    const bench = compacting((request) => {
      if (!isSummary(request)) return { text: `Thought ${step++}. ${'And so on. '.repeat(40)}`, ...lookAt(300) };
      stop.abort(new Error('enough'));
      return { text: 'late', faults: [{ hang: true }] };
    }, 12_000);
    const session = await newSession(bench);
    expect(await turn(session, 'go', { signal: stop.signal })).toMatchObject({ status: 'cancelled', reason: 'enough' });
    expect(compactionsIn(await bench.store.read(session.id)).filter(({ replaced }) => replaced > 0)).toEqual([]);
  });

  it('is asked of the configured model', async () => {
    const bench = compacting(looking(200, 300, 'Some thoughts about it. '.repeat(20)), 12_000, {
      compactor: {
        model: async () => ({
          client: bench.model,
          provider: 'scripted',
          model: 'cheap',
          contextWindow: 4_000,
          price: { input: 1, output: 1 },
        }),
      },
    });
    const session = await newSession(bench);
    await turn(session, 'go');
    const asked = bench.model.requests.filter(isSummary);
    expect(asked.length).toBeGreaterThan(0);
    expect(new Set(asked.map(({ model }) => model))).toEqual(new Set(['cheap']));
    expect(Math.max(...asked.map(tokensOf))).toBeLessThan(4_000);
    expect(compactionsIn(await bench.store.read(session.id)).find(({ usage }) => usage)).toMatchObject({
      model: 'cheap',
    });
  });
});

describe('windows that are too small', () => {
  it('F27: fifteen results of 40 KB in one step: one compaction, all in the request, whole by read_result', async () => {
    const bench = compacting((request) => {
      if (isSummary(request)) return 'SUMMARY';
      const asked = request.messages.some((message) => message.role === 'tool');
      const calls = Array.from({ length: 15 }, (_, index) => call('bulky', { size: 40_000, tag: `n${index}` }));
      return asked ? 'done' : { calls };
    }, 128_000);
    const session = await newSession(bench);
    expect(await turn(session, 'go')).toMatchObject({ status: 'completed', answer: 'done' });
    expect(compactionsIn(await bench.store.read(session.id))).toHaveLength(1);
    expect(bench.model.requests).toHaveLength(2);
    const results = bench.model.requests[1]?.messages.flatMap((message) => (message.role === 'tool' ? [message] : []));
    expect(results).toHaveLength(15);
    for (const [index, { content, callId }] of (results ?? []).entries()) {
      expect(content).toMatch(new RegExp(`^n${index} lorem`));
      expect(content).toContain(`read_result {"id":"${callId}","offset":`);
      expect((await wholeTexts(bench.store)(session.id, callId))?.length).toBeGreaterThan(40_000);
    }
  });

  it('F25: results of 50,000 characters in a window of 8,000 tokens: six calls, then the answer', async () => {
    const bench = compacting(looking(6, 50_000), 8_000);
    const session = await newSession(bench);
    expect(await turn(session, 'keep this task')).toMatchObject({ status: 'completed', answer: 'done', steps: 7 });
    for (const request of steps(bench.model.requests)) {
      expect(tokensOf(request)).toBeLessThan(8_000);
      expect(request.messages[0]).toMatchObject({ content: 'keep this task' });
    }
  });

  it('F25: what cannot fit at all fails as context_overflow and keeps what was said', async () => {
    const bench = compacting(() => ({ text: 'half an answer', ...lookAt(100, 'x'.repeat(60_000)) }), 8_000);
    const session = await newSession(bench);
    const result = await turn(session, 'go');
    expect(result).toMatchObject({ status: 'failed', answer: 'half an answer' });
    expect(result.reason).toMatch(/^context_overflow: .*scripted\/m.*about \d+ of 8000 tokens/);
  });

  it('cuts an enormous task, and read_result has the whole', async () => {
    const bench = compacting(looking(3, 400), 8_000);
    const session = await newSession(bench);
    const task = `begin ${'word '.repeat(20_000)} end of the task`;
    expect(await turn(session, task)).toMatchObject({ status: 'completed' });
    const [first] = steps(bench.model.requests)[0]?.messages ?? [];
    const content = first?.role === 'user' ? first.content : '';
    expect(content).toMatch(/^begin word.*end of the task$/s);
    expect(content.length).toBeLessThan(8_000);
    const [, id = '', offset = '0'] = /read_result \{"id":"([^"]+)","offset":(\d+)\}/.exec(content) ?? [];
    const whole = await wholeTexts(bench.store)(session.id, id);
    expect(whole).toBe(task);
    expect(content.startsWith(`${whole?.slice(0, Number(offset))}\n`)).toBe(true);
  });
});

describe('a provider that refuses a request for its length', () => {
  const tooLong = (message: string) => ({ faults: [{ status: 400, message, times: 'always' as const }] });

  it('gets a compacted one, once; the window it named holds from then on', async () => {
    let refused = 0;
    let step = 0;
    const bench = compacting(
      (request) => {
        if (isSummary(request)) return 'SUMMARY';
        if (tokensOf(request) > 10_000) {
          refused++;
          return tooLong("This model's maximum context length is 10000 tokens. However, your messages are too long.");
        }
        return step++ < 60 ? lookAt(3_000) : 'done';
      },
      128_000,
      { isWindowKnown: false },
    );
    const session = await newSession(bench);
    expect(await turn(session, 'go')).toMatchObject({ status: 'completed', answer: 'done' });
    expect(refused).toBe(1);
    const [first, ...others] = compactionsIn(await bench.store.read(session.id));
    expect(first?.reason).toBe('overflow');
    expect(others.length).toBeGreaterThan(0);
    expect(new Set(others.map(({ reason }) => reason))).toEqual(new Set(['window']));
  });

  it('and refuses that, too: context_overflow', async () => {
    const bench = compacting((request) => {
      if (request.messages.length < 40) return { text: 'so far', ...lookAt(1_500) };
      return tooLong('prompt is too long');
    }, 128_000);
    const session = await newSession(bench);
    const result = await turn(session, 'go');
    expect(result).toMatchObject({ status: 'failed', answer: 'so far' });
    expect(result.reason).toContain('context_overflow');
    expect(compactionsIn(await bench.store.read(session.id))).toHaveLength(1);
  });

  it('says nothing of the sessions of others when it names no window', async () => {
    const bench = compacting((request) => {
      return JSON.stringify(request.messages).includes('dense') ? tooLong('prompt is too long') : 'fine';
    }, 128_000);
    const [dense, other] = [await newSession(bench), await newSession(bench)];
    expect((await turn(dense, 'dense')).reason).toContain('context_overflow');
    expect(await turn(other, 'word '.repeat(1_000))).toMatchObject({ status: 'completed', answer: 'fine' });
    expect(await turn(other, 'go on')).toMatchObject({ status: 'completed', answer: 'fine' });
  });

  it('is left alone when compaction is off', async () => {
    const bench = compacting(() => tooLong('prompt is too long'), 128_000, { compactor: { at: 0 } });
    const session = await newSession(bench);
    expect((await turn(session, 'go')).reason).toContain('prompt is too long');
    expect(bench.model.requests).toHaveLength(1);
  });
});

it('says what it is by a stable code', () => {
  expect(ReasonixError.isInstance(new ReasonixError('context_overflow', 'x'), 'context_overflow')).toBe(true);
});
