import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../src/core/events.ts';
import type { Message } from '../../src/core/messages.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { modelsOf } from '../../src/models/models.ts';
import { type ScriptedFunction, scriptedModel } from '../../src/models/scripted.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { call, referencesIn, workshop } from '../runtime/workshop.ts';
import { bulky, checkPairs, compactionsIn, isSummary, tokensOf } from './compaction-bench.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length / 2)] ?? 0;
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

const textsOf = ({ messages }: ModelRequest): string[] =>
  messages.map((message) => (message.role === 'assistant' ? message.text : message.content));

/** A runtime in memory whose only model has a window of `window` tokens. */
async function open(
  shop: ReturnType<typeof workshop>,
  window: number,
  script: ScriptedFunction,
  overrides: string[] = [],
) {
  const model = scriptedModel(script, { record: false });
  const { runtime } = await shop.open(script, {
    models: modelsOf(model, { model: 'm', contextWindow: window }),
    store: memoryStore(),
    tools: [bulky],
    overrides,
  });
  return runtime;
}

/** Compactions between each two answers. */
function perStep(events: readonly StoredEvent[]): number[] {
  const counts = [0];
  for (const { type } of events) {
    if (type === 'assistant.message') counts.push(0);
    if (type === 'context.compacted') counts[counts.length - 1] = (counts.at(-1) ?? 0) + 1;
  }
  return counts;
}

describe('long sessions', () => {
  it('2,000 steps in a window of 32,000 tokens: bounded, flat, with its skills in every request', async () => {
    const shop = workshop();
    shop.skill('house-rules', {}, 'RULES: measure twice.\n');
    shop.skill('style', {}, 'STYLE: short sentences.\n');
    const inputs: number[] = [];
    const times: number[] = [];
    const heap: number[] = [];
    const missing: number[] = [];
    let step = 0;
    let largest = 0;
    let breaks = 0;
    let before: readonly Message[] = [];
    let at = performance.now();
    const runtime = await open(
      shop,
      32_000,
      (request) => {
        if (isSummary(request)) return `Summary at step ${step}: so much is done.`;
        step++;
        times.push(performance.now() - at);
        inputs.push(tokensOf(request));
        largest = Math.max(largest, tokensOf(request));
        const texts = textsOf(request);
        const all = texts.join('\n');
        if (!all.includes('RULES: measure twice.\n\n</skill-pin>')) missing.push(step);
        if (step > 4 && !all.includes('STYLE: short sentences.\n\n</skill-pin>')) missing.push(step);
        if (texts[0] !== 'the very first task') missing.push(step);
        if (step % 50 === 0) checkPairs(request.messages);
        if (!before.every((message, index) => message === request.messages[index])) breaks++;
        before = request.messages;
        if (step === 500 || step === 2_000) {
          before = [];
          collect();
          heap.push(process.memoryUsage().heapUsed);
        }
        at = performance.now();
        if (step === 2_000) return 'all done';
        if (step === 3 || step === 1_000) return { calls: [call('run_skill', { name: 'style' })] };
        if (step === 1_001) expect(texts.at(-1)).toContain('already in this conversation');
        const calls = [call('bulky', { size: step % 7 === 0 ? 9_000 : 1_500, tag: `step ${step}` })];
        return { text: `Step ${step}: ${'I note what I saw. '.repeat(10)}`, calls };
      },
      ['skills.required.names=house-rules', 'skills.required.force=true'],
    );
    const session = await runtime.session();
    const run = await session.send('the very first task').result;
    expect(run).toMatchObject({ status: 'completed', answer: 'all done', steps: 2_000 });
    expect(missing).toEqual([]);
    expect(largest).toBeLessThan(32_000);

    const events = await runtime.store.read(session.id);
    const compactions = compactionsIn(events);
    expect(Math.max(...perStep(events))).toBe(1);
    expect(breaks).toBe(compactions.length);
    expect(compactions.length).toBeLessThan(2_000 / 15);
    expect(compactions.some(({ replaced }) => replaced > 0)).toBe(true);
    expect(run.required).toMatchObject({ loaded: ['house-rules'], nudges: 0 });

    expect(mean(inputs.slice(1_500))).toBeLessThan(1.2 * mean(inputs.slice(200, 700)));
    expect(median(times.slice(1_500))).toBeLessThan(3 * median(times.slice(100, 600)));
    const logged = JSON.stringify(events.slice(events.length / 4)).length;
    expect((heap[1] ?? 0) - (heap[0] ?? 0)).toBeLessThan(3 * logged + 10_000_000);
  }, 60_000);

  it('F25: a child with a window of 8,000 tokens and results of 50,000 characters gives its answer', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    let step = 0;
    const sizes: number[] = [];
    const runtime = await open(shop, 8_000, (request) => {
      if (isSummary(request)) return 'SUMMARY';
      if (!request.skill) {
        const last = request.messages.at(-1);
        return last?.role === 'tool'
          ? last.content
          : { calls: [call('run_skill', { name: 'dig', arguments: 'the ore' })] };
      }
      sizes.push(tokensOf(request));
      expect(textsOf(request)[0]).toBe('the ore');
      return step++ < 6 ? { calls: [call('bulky', { size: 50_000, tag: `r${step}` })] } : 'found six veins';
    });
    const run = await (await runtime.session()).send('go').result;
    expect(run.answer).toContain('Status: completed');
    expect(run.answer).toContain('found six veins');
    expect(Math.max(...sizes)).toBeLessThan(8_000);
    expect(sizes).toHaveLength(7);
  });

  it('keeps how children are continued: their lines, then a table; a child is continued after it', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    let step = 0;
    let reference = '';
    const runtime = await open(shop, 12_000, (request) => {
      if (isSummary(request)) return 'SUMMARY';
      if (request.skill) return `${textsOf(request).at(-1)}: ${'found a lot of ore. '.repeat(200)}`;
      step++;
      if (step === 1) return { calls: [call('run_skill', { name: 'dig', arguments: 'shaft one' })] };
      if (step === 2) reference = referencesIn(request.messages)[0] ?? '';
      expect(textsOf(request).join('\n')).toContain(reference);
      if (step === 80) {
        expect(textsOf(request).join('\n')).toMatch(new RegExp(`${reference} · dig · completed · .*shaft one`));
        return { calls: [call('run_skill', { name: 'dig', arguments: 'deeper', continue_from: reference })] };
      }
      return step < 80 ? { text: 'I go on with it. '.repeat(30), calls: [call('bulky', { size: 400 })] } : 'done';
    });
    const session = await runtime.session();
    const run = await session.send('go').result;
    expect(run.error).toBeUndefined();
    expect(run).toMatchObject({ status: 'completed', answer: 'done' });
    expect(run.subagents).toHaveLength(1);
    const compactions = compactionsIn(await runtime.store.read(session.id));
    expect(compactions.some(({ replaced }) => replaced > 0)).toBe(true);
    const own = compactions.reduce((sum, { usage }) => sum + (usage?.input ?? 0), 0);
    expect(run.usage.own.input).toBeGreaterThan(own);
  });
});

describe('compaction on request', () => {
  it('sums up what is older, and says so; there is nothing to gain at once again', async () => {
    const shop = workshop();
    const runtime = await open(shop, 128_000, (request) =>
      isSummary(request) ? 'SUMMARY' : `answer ${textsOf(request).length}: ${'words '.repeat(400)}`,
    );
    const session = await runtime.session();
    expect(await session.compact()).toBeUndefined();
    for (let turn = 0; turn < 12; turn++) await session.send(`question ${turn}`).result;
    const done = await session.compact();
    expect(done?.replaced).toBeGreaterThan(10);
    expect(done?.after).toBeLessThan((done?.before ?? 0) / 2);
    expect(await session.compact()).toBeUndefined();
    const last = await session.send('one more').result;
    expect(last.status).toBe('completed');
    const [event] = compactionsIn(await runtime.store.read(session.id));
    expect(event).toMatchObject({ reason: 'asked', replaced: done?.replaced });
    expect(event?.messages.map(({ content }) => content).join('\n')).toContain('SUMMARY');
  });

  it.each<[string, object]>([
    ['a child', { arguments: 'one' }],
    ['children, one for each item', { items: ['one', 'two'] }],
  ])('keeps a required skill loaded that ran as %s: there is no nudge for it', async (_, input) => {
    const shop = workshop();
    shop.skill('probe', { runAs: 'subagent' }, 'Probe.');
    const runtime = await open(shop, 128_000, (request) => {
      if (isSummary(request)) return 'SUMMARY';
      if (request.skill === 'probe') return 'probed';
      const isFirst = !request.messages.some(({ role }) => role === 'assistant');
      return isFirst ? { calls: [call('run_skill', { name: 'probe', ...input })] } : 'words '.repeat(400);
    });
    const session = await runtime.session({ required: ['probe'] });
    for (let turn = 0; turn < 12; turn++) await session.send(`question ${turn}`).result;
    expect((await session.compact())?.replaced).toBeGreaterThan(10);
    const last = await session.send('one more').result;
    expect(last.required).toMatchObject({ names: ['probe'], loaded: ['probe'], nudges: 0 });
    expect((await runtime.store.read(session.id)).some(({ type }) => type === 'required.nudged')).toBe(false);
  });

  it('waits for the end of a turn', async () => {
    const shop = workshop();
    let inTurn: Promise<unknown> | undefined;
    const runtime = await open(shop, 128_000, () => {
      inTurn = session.compact().catch((error: { code: string }) => error.code);
      return 'ok';
    });
    const session = await runtime.session();
    await session.send('go').result;
    expect(await inTurn).toBe('session_busy');
  });
});
