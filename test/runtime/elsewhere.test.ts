import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import type { ScriptedFunction } from '../../src/models/scripted.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { call, type Workshop, workshop } from './workshop.ts';

const results = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message] : []));
const task = ({ messages }: ModelRequest) => messages.find(({ role }) => role === 'user') as { content: string };

/** One that submits and one that works, with nothing in common but the store and the engine. */
async function twoMachines(
  shop: Workshop,
  script: ScriptedFunction,
  {
    submitter = {},
    worker = {},
    concurrency = 2,
  }: { submitter?: RuntimeOptions; worker?: RuntimeOptions; concurrency?: number } = {},
) {
  const store = memoryStore();
  const engine: Engine = inProcessEngine();
  onTestFinished(() => engine.close());
  const never: ScriptedFunction = () => {
    throw new Error('the submitter asked a model');
  };
  const a = await shop.open(never, { store, engine, ...submitter });
  const b = await shop.open(script, { store, engine, ...worker });
  const claim = await b.runtime.work({ concurrency });
  onTestFinished(() => claim.close(0));
  return { store, engine, submitter: a.runtime, worker: b.runtime, model: b.model, claim };
}

describe('a turn that others run', () => {
  it('gives its answer and every event to whoever began it', async () => {
    const shop = workshop();
    const { submitter } = await twoMachines(shop, () => 'forty-two');
    const session = await submitter.session();
    const run = session.send('how much?');
    const seen: string[] = [];
    for await (const observation of run) if (observation.kind === 'event') seen.push(observation.event.type);
    expect(await run.result).toMatchObject({ status: 'completed', answer: 'forty-two', steps: 1 });
    expect(seen).toEqual(['user.message', 'assistant.message', 'turn.ended']);
  });

  it('runs children and grandchildren with one place, since whoever waits has none', async () => {
    const shop = workshop();
    shop.skill('outer', { runAs: 'subagent' }, 'You are outer.');
    shop.skill('inner', { runAs: 'subagent' }, 'You are inner.');
    const { submitter, model, store } = await twoMachines(
      shop,
      (request) => {
        if (request.skill === 'inner') return `inner ${task(request).content}`;
        if (request.skill === 'outer') {
          return results(request).length === 0
            ? { calls: [call('run_skill', { name: 'inner', arguments: task(request).content })] }
            : `outer got ${results(request)[0]?.content.split('\n').at(-1)}`;
        }
        return results(request).length === 0
          ? { calls: ['a', 'b', 'c'].map((name) => call('run_skill', { name: 'outer', arguments: name })) }
          : results(request)
              .map(({ content }) => content.split('\n').at(-1))
              .join('; ');
      },
      { concurrency: 1 },
    );
    const result = await (await submitter.session()).send('go').result;
    expect(result).toMatchObject({
      status: 'completed',
      answer: 'outer got inner a; outer got inner b; outer got inner c',
    });
    expect(model.requests).toHaveLength(2 + 3 * 2 + 3);
    expect(result.subagents.map(({ depth, status }) => `${depth} ${status}`).sort()).toEqual([
      ...Array(3).fill('1 completed'),
      ...Array(3).fill('2 completed'),
    ]);
    const events = await store.read(result.session);
    expect(events.filter(({ type }) => type === 'usage')).toHaveLength(3);
    expect(result.usage.total.input).toBeGreaterThan(result.usage.own.input);
  });

  it('runs a skill that the host starts, items, and a continuation', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { submitter } = await twoMachines(shop, (request) => {
      if (request.skill === 'dig') return `dug ${(request.messages.at(-1) as { content: string }).content}`;
      if (results(request).length === 0) {
        return { calls: [call('run_skill', { name: 'dig', items: ['x', 'y', 'z'] })] };
      }
      if (results(request).length === 1) {
        const reference = /sa_\w+/.exec(results(request)[0]?.content ?? '')?.[0];
        return { calls: [call('run_skill', { name: 'dig', arguments: 'deeper', continue_from: reference })] };
      }
      return results(request).at(-1)?.content ?? '';
    });
    const first = await submitter.skill('dig').run('gold');
    expect(first).toMatchObject({ status: 'completed', answer: 'dug gold' });
    expect((await first.continue('silver')).answer).toBe('dug silver');
    const { answer } = await (await submitter.session()).send('items').result;
    expect(answer).toMatch(/dug deeper$/);
  });

  it('is cancelled wherever it runs, with everything below it', async () => {
    const shop = workshop();
    shop.skill('slow', { runAs: 'subagent' }, 'You are slow.');
    let asked = 0;
    const { submitter, store } = await twoMachines(shop, (request) => {
      if (request.skill !== 'slow')
        return { calls: ['a', 'b', 'c'].map((name) => call('run_skill', { name: 'slow', arguments: name })) };
      asked++;
      return { text: 'late', latency: 60_000 };
    });
    const stop = new AbortController();
    const session = await submitter.session();
    const run = session.send('go', { signal: stop.signal });
    while (asked < 2) await delay(10);
    const before = Date.now();
    stop.abort();
    const result = await run.result;
    expect(Date.now() - before).toBeLessThan(5_000);
    expect(result.status).toBe('cancelled');
    expect(result.subagents.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    const { sessions } = await store.list({ open: true });
    expect(sessions).toEqual([]);
    expect(
      (
        await (await submitter.session({ resume: session.id })).send('again', { signal: AbortSignal.timeout(2000) })
          .result
      ).status,
    ).toBe('cancelled');
  });

  it('holds the limits of the one who began it, and those of skills, in every process', async () => {
    const shop = workshop();
    shop.skill('busy', { runAs: 'subagent', 'max-steps': 2 }, 'You are busy.');
    const { submitter } = await twoMachines(shop, (request) => {
      if (request.skill === 'busy')
        return request.toolChoice === 'none' ? 'so far' : { calls: [call('read_file', { path: 'nothing' })] };
      return results(request).length === 0
        ? { calls: ['a', 'b', 'c'].map((name) => call('run_skill', { name: 'busy', arguments: name })) }
        : results(request)
            .map(({ content }) => content.split('\n')[0])
            .join('; ');
    });
    const { answer, subagents } = await (await submitter.session()).send('go', { limits: { spawns: 2 } }).result;
    expect(subagents.map(({ status }) => status)).toEqual(['limit:steps', 'limit:steps']);
    expect(answer).toMatch(/sa_.*sa_.*(spawn|2)/s);
  });

  it('runs out of time although nobody runs it then', async () => {
    const shop = workshop();
    shop.skill('slow', { runAs: 'subagent' }, 'You are slow.');
    const { submitter } = await twoMachines(shop, (request) => {
      if (request.skill === 'slow') return { text: 'late', latency: 60_000 };
      if (request.toolChoice === 'none') return 'summed up';
      return { calls: [call('run_skill', { name: 'slow', arguments: 'a' })] };
    });
    const result = await (await submitter.session()).send('go', { limits: { time: 1_500 } }).result;
    expect(result).toMatchObject({ status: 'limit', limit: { which: 'time' }, answer: 'summed up' });
  });

  it('runs writes that the person at the submitter allows, and no others', async () => {
    const shop = workshop();
    shop.skill('writer', { runAs: 'subagent' }, 'You write.');
    const script: ScriptedFunction = (request) => {
      if (request.skill === 'writer') {
        return results(request).length === 0
          ? {
              calls: [
                call('write_file', { path: 'a.txt', content: 'x' }),
                call('write_file', { path: 'b.txt', content: 'x' }),
              ],
            }
          : results(request)
              .map(({ isError }) => (isError ? 'refused' : 'written'))
              .join(' ');
      }
      return results(request).length === 0
        ? { calls: [call('run_skill', { name: 'writer', arguments: 'a' })] }
        : (results(request)[0]?.content.split('\n').at(-1) ?? '');
    };
    const { submitter } = await twoMachines(shop, script, { submitter: { allow: ['write_file(a.txt)'] } });
    expect((await (await submitter.session()).send('go').result).answer).toBe('written refused');
  });

  it('is handed over at the end of its step when a worker leaves', async () => {
    const shop = workshop();
    let steps = 0;
    let release = () => {};
    const first = new Promise<void>((resolve) => (release = resolve));
    const { submitter, worker, claim } = await twoMachines(shop, async (request) => {
      steps++;
      if (steps === 1) {
        release();
        await delay(300);
      }
      return results(request).length < 3 ? { calls: [call('list_files', { path: '.' })] } : 'done';
    });
    const run = (await submitter.session()).send('go');
    await first;
    await claim.close();
    expect(steps).toBe(1);
    const next = await worker.work();
    onTestFinished(() => next.close(0));
    expect(await run.result).toMatchObject({ status: 'completed', answer: 'done', steps: 4 });
    expect(steps).toBe(4);
  });

  it('brings its skills along, as they were when the session began', async () => {
    const shop = workshop();
    const file = shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const other = workshop();
    let release = () => {};
    const edited = new Promise<void>((resolve) => (release = resolve));
    const script: ScriptedFunction = async (request) => {
      if (request.skill === 'dig') return request.system.split('\n')[0] ?? '';
      await edited;
      return results(request).length === 0
        ? { calls: [call('run_skill', { name: 'dig', arguments: 'a' })] }
        : (results(request)[0]?.content.split('\n').at(-1) ?? '');
    };
    const { submitter } = await twoMachines(shop, script, { worker: { cwd: other.cwd, home: other.home } });
    const run = (await submitter.session()).send('go');
    writeFileSync(file, '---\nname: dig\ndescription: x\nrunAs: subagent\n---\nYou do nothing.');
    release();
    expect((await run.result).answer).toBe('You dig.');
  });

  it('works in the workspace of the worker, or with a tag in its own folder on the machine that has it', async () => {
    const shop = workshop();
    const other = workshop();
    shop.write('where.txt', 'at the submitter');
    other.write('where.txt', 'in the workspace');
    const script: ScriptedFunction = (request) =>
      results(request).length === 0
        ? { calls: [call('read_file', { path: 'where.txt' })] }
        : (/at the submitter|in the workspace/.exec(results(request)[0]?.content ?? '')?.[0] ?? 'nowhere');
    const workspace = [`engine.workspace=${other.cwd}`];
    const { submitter, store, engine } = await twoMachines(shop, script, { worker: { overrides: workspace } });
    expect((await (await submitter.session()).send('go').result).answer).toBe('in the workspace');
    const tagged = await shop.open(script, { store, engine, overrides: ['engine.tag=here', ...workspace] });
    const run = (await tagged.runtime.session()).send('go');
    await delay(300);
    expect((await store.list({ open: true })).sessions).toHaveLength(1);
    const claim = await tagged.runtime.work({ tags: ['here'] });
    onTestFinished(() => claim.close(0));
    expect((await run.result).answer).toBe('at the submitter');
  });

  it('counts what all processes spend of a limit, whoever of them spends it', async () => {
    const shop = workshop();
    shop.skill('outer', { runAs: 'subagent' }, 'You are outer.');
    shop.skill('inner', { runAs: 'subagent' }, 'You are inner.');
    const usage = { input: 90, output: 10 };
    const { submitter } = await twoMachines(shop, (request) => {
      if (request.skill === 'inner') return { text: 'found', usage };
      if (results(request).length > 0)
        return {
          text: results(request)
            .map(({ content }) => content)
            .join('\n'),
          usage,
        };
      const skill = request.skill === 'outer' ? 'inner' : 'outer';
      return { calls: ['a', 'b', 'c', 'd'].map((name) => call('run_skill', { name: skill, arguments: name })), usage };
    });
    const spawns = await (await submitter.session()).send('go', { limits: { spawns: 7 } }).result;
    expect(spawns.subagents).toHaveLength(7);
    const tokens = await (await submitter.session()).send('go', { limits: { tokens: 1_000 } }).result;
    const { input, output } = tokens.usage.total;
    // Whoever is under way when the limit is met ends its step, and the root sums up.
    expect(input + output).toBeGreaterThanOrEqual(1_000);
    expect(input + output).toBeLessThanOrEqual(1_300);
  });
});
