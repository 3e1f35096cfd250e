import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/models/contract.ts';
import type { ScriptedReply } from '../../src/models/scripted-format.ts';
import { call, workshop } from '../runtime/workshop.ts';
import {
  arrivedIn,
  beside,
  checkLogs,
  gate,
  logsOf,
  noticesIn,
  recordingStore,
  startedIn,
  tick,
} from './background-bench.ts';

const HANG: ScriptedReply = { faults: [{ hang: true, times: 'always' }] };

/** Children of `dig` say something, then hang until they are told to stop; `fast` ones answer. */
function hanging() {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  shop.skill('fast', { runAs: 'subagent' }, 'You are fast.');
  const { store } = recordingStore();
  const hangs = gate();
  const child = (request: ModelRequest, step: number): ScriptedReply | string => {
    if (request.skill === 'fast') return 'fast answer';
    if (step === 1) return { text: 'half a hole', calls: [call('tick', {})] };
    hangs.open();
    return HANG;
  };
  return { shop, store, hangs, child };
}

describe('the end of a turn', () => {
  it('at a limit, children are stopped and what they have is there for the summing-up', async () => {
    const { shop, store, hangs, child } = hanging();
    const { runtime, model } = await shop.open(
      async (request, facts) => {
        if (request.skill) return child(request, facts.step);
        if (facts.step === 1) return { calls: [beside('dig', 'x'), beside('fast', 'y')] };
        if (request.toolChoice === 'none')
          return `in the end: ${arrivedIn(request)
            .map(({ status, answer }) => `${status} ${answer}`)
            .sort()}`;
        await hangs.passed;
        return { calls: [call('tick', {})] };
      },
      { store, tools: [tick], limits: { steps: 2 } },
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run).toMatchObject({ status: 'limit', answer: 'in the end: cancelled half a hole,completed fast answer' });
    const notices = noticesIn(model.requests.at(-1) as ModelRequest);
    expect(notices.at(-1)).toContain('limit of this task');
    expect(notices.some((text) => text.includes('steps limit of 2 reached'))).toBe(true);
    checkLogs(await logsOf(store));
  });

  it.each(['while it waits for them', 'while it asks the model'])('cancelled %s, it ends them first', async (when) => {
    const { shop, store, hangs, child } = hanging();
    const stop = new AbortController();
    const { runtime, model } = await shop.open(
      (request, facts) => {
        if (request.skill) return child(request, facts.step);
        if (facts.step === 1) return { calls: [beside('dig', 'x'), beside('dig', 'y')] };
        return when === 'while it asks the model' ? HANG : 'I wait';
      },
      { store, tools: [tick] },
    );
    const session = await runtime.session();
    const running = session.send('go', { signal: stop.signal }).result;
    await hangs.passed;
    await delay(20);
    stop.abort();
    const run = await running;
    expect(run.status).toBe('cancelled');
    expect(run.subagents.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
    const requests = model.requests.length;
    checkLogs(await logsOf(store));
    await delay(20);
    expect(model.requests).toHaveLength(requests);

    // What they had is in the thread for whatever comes next, and they can be continued.
    const { runtime: next, model: nextModel } = await shop.open(
      (request) =>
        request.skill
          ? 'whole hole'
          : arrivedIn(request).length < 3
            ? { calls: [call('run_skill', { name: 'dig', arguments: 'go on', continue_from: startedIn(request)[0] })] }
            : 'done',
      { store },
    );
    const resumed = await (await next.session({ resume: session.id })).send('and now?').result;
    expect(resumed.answer).toBe('done');
    expect(arrivedIn(nextModel.requests.at(-1) as ModelRequest).map(({ answer }) => answer)).toEqual([
      'half a hole',
      'half a hole',
      'whole hole',
    ]);
    checkLogs(await logsOf(store));
  });

  it('a model that fails for good takes them along', async () => {
    const { shop, store, hangs, child } = hanging();
    const { runtime } = await shop.open(
      async (request, facts) => {
        if (request.skill) return child(request, facts.step);
        if (facts.step === 1) return { calls: [beside('dig', 'x')] };
        await hangs.passed;
        return { faults: [{ status: 401, times: 'always' }] };
      },
      { store, tools: [tick] },
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run).toMatchObject({ status: 'failed', subagents: [{ status: 'cancelled' }] });
    checkLogs(await logsOf(store));
  });

  it('with background_at_end = "cancel" the model is not asked again, and nothing goes on', async () => {
    const { shop, store, hangs, child } = hanging();
    const { runtime, model } = await shop.open(
      async (request, facts) => {
        if (request.skill) return child(request, facts.step);
        if (facts.step === 1) return { calls: [beside('dig', 'x')] };
        await hangs.passed;
        return 'that will do';
      },
      { store, tools: [tick], overrides: ['agent.background_at_end=cancel'] },
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run).toMatchObject({ status: 'completed', answer: 'that will do', subagents: [{ status: 'cancelled' }] });
    expect(model.requests.filter(({ skill }) => !skill)).toHaveLength(2);
    checkLogs(await logsOf(store));
  });

  it('a turn that is silent while it waits is no turn without an answer', async () => {
    const shop = workshop();
    shop.skill('fast', { runAs: 'subagent' }, 'You are fast.');
    const { runtime } = await shop.open(async (request, facts) => {
      if (request.skill) {
        await delay(20);
        return 'fast answer';
      }
      if (facts.step === 1) return { calls: [beside('fast', 'x')] };
      return facts.origins.includes('nudge') ? 'after one nudge' : '';
    });
    const run = await (await runtime.session()).send('go').result;
    expect(run).toMatchObject({ status: 'completed', answer: 'after one nudge' });
  });

  it('a child that a person runs with its skill and background is waited for: its answer is the turn', async () => {
    const shop = workshop();
    shop.skill('fast', { runAs: 'subagent' }, 'You are fast.');
    const { runtime } = await shop.open(() => 'fast answer');
    const session = await runtime.session();
    const run = await session.runSkill({ name: 'fast', arguments: 'x', background: true }).result;
    expect(run.answer).toBe('fast answer');
  });
});
