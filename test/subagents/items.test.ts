import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/core/events.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { Thread } from '../../src/session/thread.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { call, workshop } from '../runtime/workshop.ts';

const lastText = ({ messages }: ModelRequest) => (messages.at(-1) as { content: string }).content;
const hasResult = ({ messages }: ModelRequest) => messages.some(({ role }) => role === 'tool');
/** References of the items that have one, in order. */
const refsOf = (result: string) => [...result.matchAll(/^Item \d+ · (sa_\w+)/gm)].map(([, ref]) => ref);
/** A parent that makes one call, then answers with its result. */
const once = (input: Record<string, unknown>, child: (request: ModelRequest) => unknown) => (request: ModelRequest) => {
  if (request.skill) return child(request) as string;
  return hasResult(request) ? lastText(request) : { calls: [call('run_skill', { name: 'dig', ...input })] };
};

describe('run_skill with items', () => {
  it('runs a child for each, with what they share in front; results in order, one usage a child', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { runtime } = await shop.open(
      once({ arguments: 'Dig for', items: ['gold', { kind: 'tin' }, 'lead'] }, async (request) => {
        if (lastText(request).includes('tin')) throw new Error('the shovel broke');
        return `found ${lastText(request).replace('\n\n', ' ')}`;
      }),
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run.answer).toMatch(
      /^Items: 2 completed, 1 failed · steps 2 · tokens \d+\. Continue one with run_skill \{"name":"dig","continue_from":"sa_…","arguments":"…"\}\.\n\nItem 1 · sa_\w+: gold\nfound Dig for gold\n\nItem 2 · sa_\w+ · failed: \{"kind":"tin"\}\nIt ended early: [\s\S]*the shovel broke[\s\S]*\n\nItem 3 · sa_\w+: lead\nfound Dig for lead$/,
    );
    const events = await runtime.store.read(run.session);
    const usage = events.flatMap((event) => (event.type === 'usage' ? [event] : []));
    const [started] = events.flatMap((event) => (event.type === 'tool.started' ? [event.call] : []));
    expect(usage.map((event) => event.call)).toEqual([1, 2, 3].map((n) => `${started}#${n}`));
    const { children } = Thread.fold(run.session, events);
    expect(children.map(({ ref }) => ref)).toEqual(refsOf(run.answer));
    const tokens = run.subagents.reduce((total, { usage: { input, output } }) => total + input + output, 0);
    expect(run.answer).toContain(` · tokens ${tokens}.`);
    expect(run.subagents).toHaveLength(3);
    const sum = run.subagents.reduce((total, { usage: { input } }) => total + input, run.usage.own.input);
    expect(run.usage.total.input).toBe(sum);
  });

  it('runs no more at once than there are slots', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    let running = 0;
    let most = 0;
    const { runtime } = await shop.open(
      once({ items: Array.from({ length: 12 }, (_, index) => `${index}`) }, async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return 'dug';
      }),
      { overrides: ['agent.max_concurrent=3'] },
    );
    expect((await (await runtime.session()).send('go').result).answer).toMatch(/^Items: 12 completed · steps 12 · /);
    expect(most).toBe(3);
  });

  it('starts as many as the ceiling of spawns has room for; the others are answered with the reason', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { runtime } = await shop.open(
      once({ items: ['a', 'b', 'c', 'd', ' '] }, () => 'dug'),
      {
        overrides: ['agent.max_spawns=2'],
      },
    );
    const { answer, subagents } = await (await runtime.session()).send('go').result;
    expect(subagents).toHaveLength(2);
    expect(answer).toMatch(/^Items: 2 completed, 3 not started · steps 2 · /);
    expect(answer.match(/^Item [34] · not started: [cd]\n.*ceiling of 2/gm)).toHaveLength(2);
    expect(answer).toContain('Item 5 · not started: \nthe item is empty');
  });

  it('keeps 100 long answers under the limit; each is read on by its reference', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const items = Array.from({ length: 100 }, (_, index) => `place ${index} ${'far '.repeat(30)}`);
    const { runtime } = await shop.open(
      (request) => {
        if (request.skill) return `${lastText(request).slice(0, 8)} ${'é'.repeat(5_000)} end`;
        if (!hasResult(request)) return { calls: [call('run_skill', { name: 'dig', items })] };
        const result = lastText(request);
        const pointer = /read_result (\{.*?\}) …\]/.exec(result)?.[1];
        return pointer && result.startsWith('Items: 100 completed')
          ? { calls: [{ name: 'read_result', arguments: pointer }] }
          : result;
      },
      { overrides: ['agent.max_spawns=100'] },
    );
    const session = await runtime.session();
    const { answer } = await session.send('go').result;
    const [result] = (await runtime.store.read(session.id)).flatMap((event) =>
      event.type === 'tool.result' ? [event] : [],
    );
    expect(Buffer.byteLength(result?.content ?? '')).toBeLessThanOrEqual(32 * 1024);
    expect(result?.full).toBeUndefined();
    expect(refsOf(result?.content ?? '')).toHaveLength(100);
    expect(result?.content.match(/read on with read_result \{"reference":"sa_\w+","offset":\d+\}/g)).toHaveLength(100);
    expect(answer).toMatch(/^é+ end$/);
  });

  it('gives a short answer whole where a long one is cut', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { runtime } = await shop.open(
      once(
        { items: ['long', 'short'] },
        (request) => lastText(request) + ' word'.repeat(lastText(request) === 'long' ? 20_000 : 100),
      ),
    );
    const { answer } = await (await runtime.session()).send('go').result;
    expect(answer).toContain(`short${' word'.repeat(100)}`);
    expect(Buffer.byteLength(answer)).toBeGreaterThan(31 * 1024);
  });

  it('refuses what does not go together', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    shop.skill('tips', {}, 'Tips.');
    const inputs = [
      { name: 'dig', items: ['a'], continue_from: 'sa_1111' },
      { name: 'dig', items: ['a'], fork_from: 'sa_1111' },
      { name: 'dig', items: ['a'], background: true },
      { name: 'tips', items: ['a'] },
      { name: 'dig', items: [] },
      { name: 'dig', items: Array(101).fill('a') },
      { name: 'dig', items: ['a', 'b'], inputs_from: ['sa_00000000000000000000000000'] },
    ];
    const { runtime } = await shop.open((request) => {
      const results = request.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
      return results.length > 0 ? results.join('\n---\n') : { calls: inputs.map((input) => call('run_skill', input)) };
    });
    const run = await (await runtime.session()).send('go').result;
    const texts = run.answer.split('\n---\n');
    expect(texts[0]).toContain('does not go with continue_from');
    expect(texts[1]).toContain('does not go with fork_from');
    expect(texts[2]).toContain('does not go with background');
    expect(texts[3]).toContain('inline skill');
    expect(texts[4]).toContain('items has 0 entries');
    expect(texts[5]).toContain('items has 101 entries');
    // One reason that holds for all of them is said once.
    expect(texts[6]).toMatch(/^(?!.*Item).*sa_00000000000000000000000000/);
    expect(run.subagents).toEqual([]);
  });

  it('gives each the inputs, and the whole to code that runs it', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { runtime } = await shop.open((request) => `${/secret \d/.exec(lastText(request))?.[0] ?? 'secret 7'}`);
    const session = await runtime.session();
    const first = await session.runSkill({ name: 'dig', arguments: 'x' }).result;
    const ref = first.subagents[0]?.ref ?? '';
    const both = await session.runSkill({ name: 'dig', items: ['a', 'b'], inputs_from: [ref] }).result;
    expect(both.status).toBe('completed');
    expect(both.answer).toMatch(/^Items: 2 completed.*\n\nItem 1 .*\nsecret 7\n\nItem 2 .*\nsecret 7$/);
  });

  it('finds every child again after a crash, wherever it happened', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const script = once({ items: ['a', 'b', 'c'] }, (request) => `dug ${lastText(request)}`);
    const options = { overrides: ['agent.max_spawns=2'] };
    const whole = await shop.open(script, options);
    const session = await whole.runtime.session();
    const undisturbed = await session.send('go').result;
    const logs = new Map<string, SessionEvent[]>();
    for (const id of [session.id, ...undisturbed.subagents.map(({ ref }) => ref)]) {
      const events = await whole.runtime.store.read(id);
      logs.set(
        id,
        events.map(({ seq: _seq, at: _at, ...event }) => event as SessionEvent),
      );
    }
    const parent = logs.get(session.id) ?? [];
    const cut = parent.findIndex(({ type }) => type === 'tool.started') + 1;
    const [one = '', two = ''] = refsOf(undisturbed.answer);
    // The first had ended, the second was in the middle, and there was no room for the third.
    const store = memoryStore();
    await store.append(session.id, 0, parent.slice(0, cut));
    await store.append(one, 0, logs.get(one) ?? []);
    await store.append(two, 0, (logs.get(two) ?? []).slice(0, -2));
    const after = await shop.open(script, { ...options, store });
    const resumed = await (await after.runtime.session({ resume: session.id })).resume().result;
    expect(resumed.answer).toMatch(/^Items: 2 completed, 1 not started · /);
    expect(refsOf(resumed.answer)).toEqual([one, two]);
    expect(resumed.answer).toBe(undisturbed.answer);
    expect((await store.list({ root: session.id, kind: 'child' })).sessions).toHaveLength(2);
    const usage = (await store.read(session.id)).filter(({ type }) => type === 'usage');
    const before = parent.filter(({ type }) => type === 'usage');
    expect(usage).toEqual(before.map((event) => expect.objectContaining(event)));
  });
});
