import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import type { StoredEvent } from '../../src/core/events.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import type { ScriptedFunction } from '../../src/models/scripted.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import type { SessionStore } from '../../src/store/contract.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import {
  arrivedIn,
  beside,
  checkLogs,
  gate,
  logsOf,
  noticesIn,
  recordingStore,
  resultsIn,
  startedIn,
  storeOf,
} from '../subagents/background-bench.ts';
import { call, type Workshop, workshop } from './workshop.ts';

interface Setup extends RuntimeOptions {
  /** For each worker, how many sessions it runs at once. */
  workers?: readonly number[];
  store?: SessionStore;
}

/** One that submits, and workers with nothing in common but the store and the engine. */
async function machines(shop: Workshop, script: ScriptedFunction, setup: Setup = {}) {
  const { workers = [2, 2], store = recordingStore().store, ...options } = setup;
  const engine: Engine = inProcessEngine();
  onTestFinished(() => engine.close());
  const never: ScriptedFunction = () => {
    throw new Error('the submitter asked a model');
  };
  const { runtime: submitter } = await shop.open(never, { store, engine, ...options });
  const requests: ModelRequest[] = [];
  const watched: ScriptedFunction = (request, facts) => {
    requests.push(request);
    return script(request, facts);
  };
  const opened = await Promise.all(
    workers.map(async (concurrency) => {
      const { runtime } = await shop.open(watched, { store, engine, ...options });
      const claim = await runtime.work({ concurrency });
      onTestFinished(() => claim.close(0));
      return { runtime, claim };
    }),
  );
  const claims = opened.map(({ claim }) => claim);
  const running = () => claims.reduce((sum, claim) => sum + claim.running, 0);
  const roots = () => requests.filter(({ skill }) => !skill);
  return { store, engine, submitter, workers: opened, requests, roots, running };
}

const send = async ({ submitter }: Awaited<ReturnType<typeof machines>>, text = 'go') =>
  (await submitter.session()).send(text).result;

const settles = (assertion: () => unknown) =>
  vi.waitFor(async () => void (await assertion()), { timeout: 5_000, interval: 10 });

function digging() {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  return shop;
}

const answers = (request: ModelRequest) => arrivedIn(request).map(({ answer }) => answer);

const count = (events: readonly StoredEvent[] | undefined, type: StoredEvent['type']) =>
  events?.filter((event) => event.type === type).length;

describe('children beside a turn that others run', () => {
  it('come back as messages, once each; the turn ends after them', async () => {
    const machine = await machines(digging(), async (request, facts) => {
      if (request.skill) return `dug ${facts.task}`;
      if (facts.step === 1) return { calls: [beside('dig', 'one'), beside('dig', 'two')] };
      const arrived = answers(request);
      return arrived.length < 2 ? 'not yet' : `got ${arrived.sort().join()}`;
    });
    const run = await send(machine);
    expect(run).toMatchObject({ status: 'completed', answer: 'got dug one,dug two' });
    expect(run.subagents.map(({ status, depth }) => `${status} ${depth}`)).toEqual(['completed 1', 'completed 1']);
    expect(resultsIn(machine.roots().at(-1)!)[0]).toMatch(/^Subagent reference: sa_\w+\nStatus: running\nSkill: dig\n/);
    checkLogs(await logsOf(machine.store));
  });

  it('need no place of the parent: with one place in all, three levels do', async () => {
    const shop = digging();
    shop.skill('lead', { runAs: 'subagent' }, 'You lead.');
    const machine = await machines(
      shop,
      (request, facts) => {
        if (request.skill === 'dig') return `dug ${facts.task}`;
        const skill = request.skill ? 'dig' : 'lead';
        if (facts.step === 1) return { calls: ['x', 'y'].map((task) => beside(skill, `${facts.task}${task}`)) };
        const arrived = answers(request);
        return arrived.length === 2 ? arrived.sort().join('+') : 'not yet';
      },
      { workers: [1] },
    );
    expect((await send(machine, 't')).answer).toBe('dug txx+dug txy+dug tyx+dug tyy');
    checkLogs(await logsOf(machine.store));
  });

  it('the parent goes on beside them, gets what has ended in the next step, and holds nothing at its end', async () => {
    const first = gate();
    const second = gate();
    const stepped = gate();
    const machine = await machines(digging(), async (request, facts) => {
      if (request.skill) {
        await (facts.task === 'a' ? first : second).passed;
        return `dug ${facts.task}`;
      }
      if (facts.step === 1) return { calls: [beside('dig', 'a'), beside('dig', 'b')] };
      if (facts.step === 2) {
        first.open();
        await settles(async () => {
          const { sessions } = await machine.store.list({ kind: 'child' });
          expect(sessions.filter(({ status }) => status === 'completed')).toHaveLength(1);
        });
        await delay(500);
        return { calls: [call('list_files', { path: '.' })] };
      }
      stepped.open();
      return answers(request).length < 2 ? 'the end, nearly' : 'the end';
    });
    const result = send(machine);
    await stepped.passed;
    expect(answers(machine.roots().at(-1)!)).toEqual(['dug a']);
    // The second child has a place, and nobody else.
    await settles(() => expect(machine.running()).toBe(1));
    await delay(200);
    expect(machine.running()).toBe(1);
    expect(machine.roots()).toHaveLength(3);
    second.open();
    expect((await result).answer).toBe('the end');
    expect(machine.roots()).toHaveLength(4);
    checkLogs(await logsOf(machine.store));
  });

  it('are ended at the end of the turn when the configuration says so', async () => {
    const machine = await machines(
      digging(),
      (request, facts) => {
        if (request.skill) return { faults: [{ hang: true, times: 'always' }] };
        return facts.step === 1 ? { calls: [beside('dig', 'a'), beside('dig', 'b')] } : 'enough';
      },
      { overrides: ['agent.background_at_end=cancel'] },
    );
    const run = await send(machine);
    expect(run).toMatchObject({ status: 'completed', answer: 'enough' });
    expect(run.subagents.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
    checkLogs(await logsOf(machine.store));
  });

  it.each([[[2, 2]], [[1]]])('end before a turn that is cancelled (places: %j)', async (workers) => {
    const machine = await machines(
      digging(),
      (request, facts) => {
        if (request.skill || facts.step > 1) return { faults: [{ hang: true, times: 'always' }] };
        return { calls: [beside('dig', 'a'), beside('dig', 'b')] };
      },
      { workers },
    );
    const stop = new AbortController();
    const { result } = (await machine.submitter.session()).send('go', { signal: stop.signal });
    await settles(() => expect(machine.roots()).toHaveLength(2));
    const before = performance.now();
    stop.abort();
    const run = await result;
    expect(performance.now() - before).toBeLessThan(5_000);
    expect(run.status).toBe('cancelled');
    expect(run.subagents.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
    expect((await machine.store.list({ open: true })).sessions).toEqual([]);
    checkLogs(await logsOf(machine.store));
  });

  it('end at a limit of the turn, and what they have is there for the summing-up', async () => {
    const digs = gate();
    const machine = await machines(digging(), async (request, facts) => {
      const look = call('list_files', { path: '.' });
      if (request.skill && facts.step === 1) return { text: 'half a hole', calls: [look] };
      if (request.skill) {
        digs.open();
        return { faults: [{ hang: true, times: 'always' }] };
      }
      if (request.toolChoice === 'none') return `sum of ${answers(request).join('+')}`;
      if (facts.step === 1) return { calls: [beside('dig', 'a')] };
      await digs.passed;
      return { calls: [look] };
    });
    const run = await (await machine.submitter.session()).send('go', { limits: { steps: 2 } }).result;
    expect(run).toMatchObject({ status: 'limit', limit: { which: 'steps' }, answer: 'sum of half a hole' });
    expect(run.subagents.map(({ status }) => status)).toEqual(['cancelled']);
    checkLogs(await logsOf(machine.store));
  });

  it('one whose log is gone is told as failed, and the turn goes on', async () => {
    const asked = gate();
    const machine = await machines(digging(), async (request, facts) => {
      if (request.skill) {
        asked.open();
        return { faults: [{ hang: true, times: 'always' }] };
      }
      if (facts.step === 1) return { calls: [beside('dig', 'a')] };
      if (facts.step === 2) {
        await asked.passed;
        await machine.store.delete(startedIn(request)[0] ?? '');
        return { calls: [call('wait_subagents', {})] };
      }
      return 'on my own';
    });
    expect((await send(machine)).answer).toBe('on my own');
    expect(arrivedIn(machine.roots().at(-1)!)).toMatchObject([{ status: 'failed' }]);
  });

  it('with a worktree they run where their caller does, which waits', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent', isolation: 'worktree' }, 'You dig.');
    const machine = await machines(shop, (_request, facts) =>
      facts.step === 1 ? { calls: [beside('dig', 'a')] } : 'done',
    );
    await send(machine);
    // No repository: what counts is that the call has answered itself.
    expect(resultsIn(machine.roots().at(-1)!)[0]).not.toContain('Status: running');
  });
});

describe('wait_subagents', () => {
  it.each([[[2, 2]], [[1]]])(
    'waits for all in the step that starts them, without a place (places: %j)',
    async (workers) => {
      const asked = gate();
      const open = gate();
      const machine = await machines(
        digging(),
        async (request, facts) => {
          if (request.skill) {
            asked.open();
            await open.passed;
            return `dug ${facts.task}`;
          }
          if (facts.step === 1) return { calls: [beside('dig', 'a'), beside('dig', 'b'), call('wait_subagents', {})] };
          return 'done';
        },
        { workers },
      );
      const result = send(machine);
      await asked.passed;
      await settles(() => expect(machine.running()).toBe(Math.min(2, workers[0] ?? 0)));
      open.open();
      await result;
      expect(machine.roots()).toHaveLength(2);
      expect(answers(machine.roots()[1]!).sort()).toEqual(['dug a', 'dug b']);
      expect(noticesIn(machine.roots()[1]!)).toEqual([]);
      checkLogs(await logsOf(machine.store));
    },
  );

  it('gives the first with any; the other comes later', async () => {
    const open = gate();
    const machine = await machines(digging(), async (request, facts) => {
      const [a, b] = startedIn(request);
      if (request.skill) {
        if (facts.task === 'a') await open.passed;
        return `dug ${facts.task}`;
      }
      if (facts.step === 1) return { calls: [beside('dig', 'a'), beside('dig', 'b')] };
      if (facts.step === 2) return { calls: [call('wait_subagents', { mode: 'any', refs: [a, b] })] };
      if (facts.step === 3) {
        open.open();
        return { calls: [call('wait_subagents', { refs: a })] };
      }
      return 'done';
    });
    await send(machine);
    const [, , any, all] = resultsIn(machine.roots().at(-1)!);
    expect(any).toContain('dug b');
    expect(any).toContain('· dig · running · steps');
    expect(all).toContain('dug a');
    checkLogs(await logsOf(machine.store));
  });

  it('gives up after its time: in place when that is short, by a timer when it is long', async () => {
    const open = gate();
    const waiting = gate();
    const machine = await machines(
      digging(),
      async (request, facts) => {
        if (request.skill) {
          await open.passed;
          return 'dug';
        }
        if (facts.step === 1) return { calls: [beside('dig', 'a'), call('wait_subagents', { timeout: 0.05 })] };
        if (facts.step === 2) {
          waiting.open();
          return { calls: [call('wait_subagents', { timeout: 2.5 })] };
        }
        open.open();
        return 'done';
      },
      { workers: [2] },
    );
    const result = send(machine);
    await waiting.passed;
    const before = performance.now();
    await settles(() => expect(machine.running()).toBe(1));
    await result;
    expect(performance.now() - before).toBeGreaterThan(2_300);
    const [, short, long] = resultsIn(machine.roots().at(-1)!);
    expect(short).toMatch(/^sa_\w+ · dig · running · steps 0$/);
    expect(long).toBe(short);
    checkLogs(await logsOf(machine.store));
  });
});

describe('cancel_subagent', () => {
  it('ends a child and what it has started', async () => {
    const shop = digging();
    shop.skill('lead', { runAs: 'subagent' }, 'You lead.');
    const stuck = gate();
    const machine = await machines(shop, async (request, facts) => {
      if (request.skill === 'dig') {
        stuck.open();
        return { faults: [{ hang: true, times: 'always' }] };
      }
      if (request.skill) {
        return { text: 'I begin', calls: [beside('dig', 'x'), call('run_skill', { name: 'dig', arguments: 'y' })] };
      }
      const [ref] = startedIn(request);
      if (facts.step === 1) return { calls: [beside('lead', 'all of it')] };
      if (facts.step === 2) await stuck.passed;
      if (facts.step <= 3) return { calls: [call('cancel_subagent', { ref, reason: 'no longer needed' })] };
      return 'done';
    });
    await send(machine);
    const last = machine.roots().at(-1)!;
    const [ref] = startedIn(last);
    expect(resultsIn(last)).toContain(`Sub-agent ${ref} is stopped. What it has comes as a message.`);
    expect(arrivedIn(last)).toEqual([{ ref, status: 'cancelled', answer: 'I begin' }]);
    const logs = await logsOf(machine.store);
    const ends = [...logs.values()].map((events) => events.at(-1));
    expect(ends.map((end) => (end?.type === 'turn.ended' ? end.status : end?.type))).toEqual([
      'completed',
      'cancelled',
      'cancelled',
      'cancelled',
    ]);
    checkLogs(logs);
  });

  it('waits without a place for one that has none yet, and tells that it is stopped', async () => {
    const machine = await machines(
      digging(),
      (request, facts) => {
        const [ref] = startedIn(request);
        if (request.skill) throw new Error('the child asked a model');
        if (facts.step === 1) return { calls: [beside('dig', 'a')] };
        return facts.step === 2 ? { calls: [call('cancel_subagent', { ref })] } : 'done';
      },
      { workers: [1] },
    );
    await send(machine);
    const last = machine.roots().at(-1)!;
    const [ref] = startedIn(last);
    expect(resultsIn(last)[1]).toBe(`Sub-agent ${ref} is stopped. What it has comes as a message.`);
    expect(arrivedIn(last)).toMatchObject([{ ref, status: 'cancelled' }]);
    checkLogs(await logsOf(machine.store));
  });
});

describe('send_to_subagent', () => {
  const tick = defineTool({
    name: 'tick',
    description: 'Passes time.',
    input: z.object({}),
    effects: 'read',
    execute: async () => {
      await delay(10);
      return 'tick';
    },
  });

  it('reaches a child that runs on another machine before its next step, once', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent', 'max-steps': 2_000 }, 'You dig.');
    const asked = gate();
    const machine = await machines(
      shop,
      async (request, facts) => {
        if (request.skill) {
          asked.open();
          const said = request.messages.filter((message) => message.role === 'user').map(({ content }) => content);
          if (!said.includes('stop')) return { calls: [call('tick', {})] };
          // The next run of it is told everything again.
          if (facts.newResults.at(-1)?.name === 'tick') return { calls: [beside('dig', 'stop')] };
          return `heard ${said.slice(1, 3).join('+')}`;
        }
        const [ref] = startedIn(request);
        if (facts.step === 1) return { calls: [beside('dig', 'until told')] };
        if (facts.step > 2) return 'done';
        await asked.passed;
        const say = (message: string) => call('send_to_subagent', { ref, message });
        return { calls: [say('faster'), say('stop'), call('wait_subagents', {})] };
      },
      { tools: [tick] },
    );
    await send(machine);
    const last = machine.roots().at(-1)!;
    expect(answers(last)).toEqual(['heard faster+stop']);
    expect(resultsIn(last)[1]).toMatch(/^Sent\. sa_\w+ reads it before its next step\.$/);
    const logs = await logsOf(machine.store);
    expect(count(logs.get(startedIn(last)[0] ?? ''), 'message.received')).toBe(2);
    checkLogs(logs);
  });

  it('wakes a child that waits for children of its own, and has no place', async () => {
    const shop = digging();
    const tools = 'run_skill, wait_subagents, cancel_subagent';
    shop.skill('lead', { runAs: 'subagent', 'allowed-tools': tools }, 'You lead.');
    const waiting = gate();
    const machine = await machines(shop, async (request, facts) => {
      const [ref] = startedIn(request);
      if (request.skill === 'dig') return { faults: [{ hang: true, times: 'always' }] };
      if (request.skill) {
        if (facts.step === 1) return { calls: [beside('dig', 'for ever')] };
        if (facts.message === 'enough') return { calls: [call('cancel_subagent', { ref })] };
        if (facts.step === 2) waiting.open();
        return facts.step === 2 ? 'I wait' : 'stopped it';
      }
      if (facts.step === 1) return { calls: [beside('lead', 'x')] };
      if (facts.step > 2) return 'done';
      await waiting.passed;
      await settles(() => expect(machine.running()).toBe(2));
      return { calls: [call('send_to_subagent', { ref, message: 'enough' })] };
    });
    await send(machine);
    expect(arrivedIn(machine.roots().at(-1)!)).toMatchObject([{ status: 'completed', answer: 'stopped it' }]);
    checkLogs(await logsOf(machine.store));
  });

  it('says of one that has ended that it is to be continued, and nothing comes to its next turn', async () => {
    const machine = await machines(digging(), async (request, facts) => {
      const [ref] = startedIn(request);
      if (request.skill) return `dug ${facts.message}`;
      switch (facts.step) {
        case 1:
          return { calls: [beside('dig', 'a'), call('wait_subagents', {})] };
        case 2:
          return { calls: [call('send_to_subagent', { ref, message: 'too late' })] };
        case 3:
          return { calls: [call('run_skill', { name: 'dig', arguments: 'more', continue_from: ref })] };
        default:
          return resultsIn(request).at(-1)?.split('\n').at(-1) ?? '';
      }
    });
    const run = await send(machine);
    expect(resultsIn(machine.roots().at(-1)!)[2]).toContain('continue_from');
    expect(run.answer).toBe('dug more');
    checkLogs(await logsOf(machine.store));
  });
});

describe('when machines go and come', () => {
  it('a worker that leaves hands the parent and its children over', async () => {
    const asked = gate();
    let steps = 0;
    const machine = await machines(
      digging(),
      async (request, facts) => {
        if (request.skill) {
          steps++;
          asked.open();
          await delay(200);
          return facts.step < 3 ? { calls: [call('list_files', { path: '.' })] } : `dug ${facts.task}`;
        }
        if (facts.step === 1) return { calls: [beside('dig', 'a'), beside('dig', 'b')] };
        return answers(request).length < 2 ? 'not yet' : 'both';
      },
      { workers: [3] },
    );
    const result = send(machine);
    await asked.passed;
    const [worker] = machine.workers;
    await worker!.claim.close();
    expect(steps).toBeLessThan(6);
    const next = await worker!.runtime.work();
    onTestFinished(() => next.close(0));
    expect((await result).answer).toBe('both');
    expect(steps).toBe(6);
    checkLogs(await logsOf(machine.store));
  });

  it('a parent that was cut in the middle of its work goes on although its child runs', async () => {
    const shop = digging();
    const told = gate();
    const script: ScriptedFunction = async (request, facts) => {
      if (request.skill) {
        await told.passed;
        return 'dug';
      }
      if (facts.step === 1) return { calls: [beside('dig', 'a')] };
      told.open();
      return answers(request).length === 0 ? 'not yet' : 'all of it';
    };
    const recorded = recordingStore();
    const first = await machines(shop, script, { store: recorded.store });
    const { session } = await send(first);
    const started = recorded.appends.findIndex(({ events }) => events.some(({ type }) => type === 'subagent.started'));
    const store = await storeOf(
      recorded.appends.slice(0, started + 1).filter(({ session: id, from }) => id === session || from < 2),
    );
    expect((await store.list({ open: true })).sessions).toHaveLength(2);
    Object.assign(told, gate());
    await machines(shop, script, { store });
    await settles(async () => expect((await store.list({ open: true })).sessions).toEqual([]));
    expect((await store.read(session)).at(-1)).toMatchObject({ type: 'turn.ended', answer: 'all of it' });
    checkLogs(await logsOf(store));
  });

  it('dead after any append, the tree comes to the same end', async () => {
    const shop = workshop();
    const tools = 'run_skill, wait_subagents';
    shop.skill('lead', { runAs: 'subagent', 'allowed-tools': tools }, 'You lead.');
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const script: ScriptedFunction = (request, facts) => {
      if (request.skill === 'dig') return `dug ${facts.task}`;
      const [ref] = startedIn(request);
      if (request.skill) {
        if (facts.step === 1) return { calls: [beside('dig', 'x'), call('wait_subagents', { timeout: 60 })] };
        return `led ${answers(request).join()}`;
      }
      switch (facts.step) {
        case 1:
          return { calls: [beside('lead', 'a'), beside('dig', 'b')] };
        case 2:
          return {
            calls: [call('send_to_subagent', { ref, message: 'hello' }), call('wait_subagents', { mode: 'any' })],
          };
        default:
          return answers(request).length < 2 ? 'not yet' : answers(request).sort().join('; ');
      }
    };
    const recorded = recordingStore();
    const whole = await machines(shop, script, { store: recorded.store, workers: [1] });
    const { answer, session } = await send(whole);
    expect(answer).toBe('dug b; led dug x');
    const isBegun = recorded.appends.findIndex(({ events }) => events.some(({ type }) => type === 'user.message')) + 1;
    for (let died = isBegun; died < recorded.appends.length; died++) {
      const store = await storeOf(recorded.appends.slice(0, died));
      const { engine } = await machines(shop, script, { store, workers: [2] });
      await vi.waitFor(
        async () => expect((await store.list({ open: true })).sessions, `died after ${died}`).toEqual([]),
        { timeout: 5_000, interval: 10 },
      );
      const logs = await logsOf(store);
      expect(logs.get(session)?.at(-1), `died after ${died}`).toMatchObject({ type: 'turn.ended', answer });
      for (const events of logs.values()) expect(count(events, 'message.received')).toBeLessThanOrEqual(1);
      checkLogs(logs);
      await engine.close();
    }
  }, 60_000);
});
