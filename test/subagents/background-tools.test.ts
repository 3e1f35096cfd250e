import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src/models/contract.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { call, workshop } from '../runtime/workshop.ts';
import {
  arrivedIn,
  beside,
  checkLogs,
  type Gate,
  gate,
  logsOf,
  noticesIn,
  recordingStore,
  resultsIn,
  startedIn,
} from './background-bench.ts';

/** A project with one skill whose children answer when their gate, named by the task, is open. */
function gated(tasks: readonly string[]) {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  const gates = Object.fromEntries(tasks.map((task) => [task, gate()])) as Record<string, Gate>;
  const { store } = recordingStore();
  const child = async (task: string) => {
    await gates[task]?.passed;
    return `dug ${task}`;
  };
  return { shop, gates, store, child };
}

const tick = defineTool({
  name: 'tick',
  description: 'Passes time.',
  input: z.object({}),
  effects: 'read',
  execute: async () => {
    await delay(1);
    return 'tick';
  },
});

describe('wait_subagents', () => {
  it('waits for all, in one call after those that start them in the same step', async () => {
    const { shop, gates, store, child } = gated(['a', 'b']);
    const { runtime, model } = await shop.open(
      (request, facts) => {
        if (request.skill) return child(facts.task);
        if (facts.step === 1) return { calls: [beside('dig', 'a'), beside('dig', 'b'), call('wait_subagents', {})] };
        return 'done';
      },
      { store },
    );
    const running = (await runtime.session()).send('go').result;
    gates.b?.open();
    gates.a?.open();
    await running;
    const last = model.requests.at(-1) as ModelRequest;
    expect(model.requests.filter(({ skill }) => !skill)).toHaveLength(2);
    expect(
      arrivedIn(last)
        .map(({ answer }) => answer)
        .sort(),
    ).toEqual(['dug a', 'dug b']);
    expect(last.messages.filter((message) => message.role === 'user')).toHaveLength(1);
    checkLogs(await logsOf(store));
  });

  it('gives the first that ends with any; the other comes later, and the first has only a line left', async () => {
    const { shop, gates, store, child } = gated(['a', 'b']);
    const { runtime, model } = await shop.open(
      (request, facts) => {
        if (request.skill) return child(facts.task);
        const refs = startedIn(request);
        switch (facts.step) {
          case 1:
            return { calls: [beside('dig', 'a'), beside('dig', 'b')] };
          case 2:
            gates.b?.open();
            return { calls: [call('wait_subagents', { mode: 'any' })] };
          case 3:
            gates.a?.open();
            return { calls: [call('wait_subagents', { refs: refs.join(', ') })] };
          default:
            return 'done';
        }
      },
      { store },
    );
    await (await runtime.session()).send('go').result;
    const last = model.requests.at(-1) as ModelRequest;
    const [a, b] = startedIn(last);
    const [, , any, all] = resultsIn(last);
    expect(any).toContain('dug b');
    expect(any).toContain(`${a} · dig · running · steps 0`);
    expect(all).toContain('dug a');
    expect(all).not.toContain('dug b');
    expect(all).toContain(`Sub-agent ${b} (dig) has ended: completed.`);
    checkLogs(await logsOf(store));
  });

  it('of two waits in one step each result comes by one', async () => {
    const { shop, gates, store, child } = gated(['a', 'b']);
    const { runtime, model } = await shop.open(
      (request, facts) => {
        if (request.skill) return child(facts.task);
        if (facts.step === 1) return { calls: [beside('dig', 'a'), beside('dig', 'b')] };
        if (facts.step > 2) return 'done';
        for (const each of Object.values(gates)) each.open();
        return { calls: [call('wait_subagents', {}), call('wait_subagents', { mode: 'any' })] };
      },
      { store },
    );
    await (await runtime.session()).send('go').result;
    const last = model.requests.at(-1) as ModelRequest;
    expect(
      arrivedIn(last)
        .map(({ answer }) => answer)
        .sort(),
    ).toEqual(['dug a', 'dug b']);
    checkLogs(await logsOf(store));
  });

  it('gives up after its time, says when there is nothing to wait for, and who is none of ours', async () => {
    const { shop, gates, store, child } = gated(['a']);
    const { runtime, model } = await shop.open(
      (request, facts) => {
        if (request.skill) return child(facts.task);
        switch (facts.step) {
          case 1:
            return {
              calls: [call('wait_subagents', {}), call('wait_subagents', { refs: ['sa_00000000000000000000000000'] })],
            };
          case 2:
            return { calls: [beside('dig', 'a')] };
          case 3:
            return { calls: [call('wait_subagents', { timeout: 0.05 })] };
          default:
            gates.a?.open();
            return 'done';
        }
      },
      { store },
    );
    await (await runtime.session()).send('go').result;
    const [none, unknown, , timedOut] = resultsIn(model.requests.at(-1) as ModelRequest);
    expect(none).toBe('No sub-agent runs in the background.');
    expect(unknown).toContain('There is no sub-agent "sa_00000000000000000000000000"');
    expect(timedOut).toMatch(/^sa_\w+ · dig · running · steps 0$/);
    checkLogs(await logsOf(store));
  });
});

describe('cancel_subagent', () => {
  it('ends a child and what it has started; what they have comes back', async () => {
    const shop = workshop();
    shop.skill('lead', { runAs: 'subagent' }, 'You lead.');
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { store } = recordingStore();
    const stuck = gate();
    let stopped = 0;
    const slow = defineTool({
      name: 'slow',
      description: 'Never ends by itself.',
      input: z.object({}),
      effects: 'read',
      execute: (_, { signal }) => {
        if (++stopped === 2) stuck.open();
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    const { runtime, model } = await shop.open(
      async (request, facts) => {
        if (request.skill === 'dig') return { text: 'half a hole', calls: [call('slow', {})] };
        if (request.skill) {
          if (facts.step === 1)
            return { text: 'I begin', calls: [beside('dig', 'x'), call('run_skill', { name: 'dig', arguments: 'y' })] };
          return 'never';
        }
        const [ref] = startedIn(request);
        if (facts.step === 1) return { calls: [beside('lead', 'all of it')] };
        if (facts.step === 2) {
          await stuck.passed;
          return { calls: [call('cancel_subagent', { ref, reason: 'no longer needed' })] };
        }
        if (facts.step === 3) return { calls: [call('cancel_subagent', { ref })] };
        return 'done';
      },
      { store, tools: [slow] },
    );
    await (await runtime.session()).send('go').result;
    const last = model.requests.at(-1) as ModelRequest;
    const [ref] = startedIn(last);
    expect(resultsIn(last).slice(1)).toEqual([
      `Sub-agent ${ref} is stopped. What it has comes as a message.`,
      expect.stringContaining(`Sub-agent ${ref} (lead) has ended: cancelled.`),
    ]);
    expect(arrivedIn(last)).toEqual([{ ref, status: 'cancelled', answer: 'I begin' }]);
    expect(noticesIn(last)).toEqual([expect.stringContaining('no longer needed')]);
    const logs = await logsOf(store);
    const ends = [...logs.values()]
      .map((events) => events.at(-1))
      .map((end) => (end?.type === 'turn.ended' ? end.status : end?.type));
    expect(ends).toEqual(['completed', 'cancelled', 'cancelled', 'cancelled']);
    expect(model.requests.filter(({ skill }) => skill)).toHaveLength(3);
    for (const [id, events] of logs)
      expect(events.filter(({ type }) => type === 'subagent.started').length, id).toBe(
        events.filter(({ type }) => type === 'subagent.ended').length,
      );
  });
});

describe('send_to_subagent', () => {
  const listens = (request: ModelRequest) => {
    const said = request.messages.filter((message) => message.role === 'user').map(({ content }) => content);
    return said.includes('stop') ? `heard ${said.slice(1).join('+')}` : { calls: [call('tick', {})] };
  };

  it('reaches a child before its next step, as a message', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent', 'max-steps': 2_000 }, 'You dig.');
    const { store } = recordingStore();
    const { runtime, model } = await shop.open(
      (request, facts) => {
        if (request.skill) return listens(request);
        const [ref] = startedIn(request);
        if (facts.step === 1) return { calls: [beside('dig', 'until told')] };
        if (facts.step === 2)
          return {
            calls: [
              call('send_to_subagent', { ref, message: 'faster' }),
              call('send_to_subagent', { ref, message: 'stop' }),
              call('wait_subagents', {}),
            ],
          };
        return 'done';
      },
      { store, tools: [tick] },
    );
    await (await runtime.session()).send('go').result;
    const last = model.requests.at(-1) as ModelRequest;
    expect(arrivedIn(last).map(({ answer }) => answer)).toEqual(['heard faster+stop']);
    expect(resultsIn(last)[1]).toMatch(/^Sent\. sa_\w+ reads it before its next step\.$/);
    checkLogs(await logsOf(store));
  });

  it('a child that is about to end goes on with what came meanwhile; one that has ended is to be continued', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { store } = recordingStore();
    const asked = gate();
    const sent = gate();
    const { runtime, model } = await shop.open(
      async (request, facts) => {
        if (request.skill) {
          if (facts.step === 1) {
            asked.open();
            await sent.passed;
            return 'the answer';
          }
          return `the answer, knowing ${facts.message}`;
        }
        const [ref] = startedIn(request);
        if (facts.step === 1) return { calls: [beside('dig', 'x')] };
        if (facts.step === 2) {
          await asked.passed;
          return { calls: [call('send_to_subagent', { ref, message: 'more' })] };
        }
        if (facts.step === 3) {
          sent.open();
          return { calls: [call('wait_subagents', {})] };
        }
        if (facts.step === 4) return { calls: [call('send_to_subagent', { ref, message: 'too late' })] };
        return 'done';
      },
      { store },
    );
    await (await runtime.session()).send('go').result;
    const last = model.requests.at(-1) as ModelRequest;
    expect(arrivedIn(last).map(({ answer }) => answer)).toEqual(['the answer, knowing more']);
    expect(last.messages.at(-1)).toMatchObject({
      role: 'tool',
      isError: true,
      content: expect.stringContaining('continue_from'),
    });
    checkLogs(await logsOf(store));
  });

  it('that comes while the end is being decided holds it up', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { store } = recordingStore();
    const ending = gate();
    const sent = gate();
    const { runtime, model } = await shop.open(
      async (request, facts) => {
        if (request.skill) return facts.step === 1 ? 'the answer' : `the answer, knowing ${facts.message}`;
        const [ref] = startedIn(request);
        if (facts.step === 1) return { calls: [beside('dig', 'x')] };
        if (facts.step === 2) {
          await ending.passed;
          return { calls: [call('send_to_subagent', { ref, message: 'more' })] };
        }
        sent.open();
        return 'done';
      },
      {
        store,
        middleware: [
          {
            name: 'slow-to-end',
            finishTurn: async ({ info }) => {
              if (info.kind === 'child') {
                ending.open();
                await sent.passed;
              }
              return { kind: 'end' };
            },
          },
        ],
      },
    );
    await (await runtime.session()).send('go').result;
    expect(arrivedIn(model.requests.at(-1) as ModelRequest)).toMatchObject([{ answer: 'the answer, knowing more' }]);
    checkLogs(await logsOf(store));
  });

  it('is not lost on a child that a limit ends: it is there when the child is continued', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent', 'max-steps': 1 }, 'You dig.');
    const { store } = recordingStore();
    const asked = gate();
    const sent = gate();
    const { runtime, model } = await shop.open(
      async (request, facts) => {
        if (request.skill) {
          if (facts.turn === 1 && request.toolChoice !== 'none') {
            return { calls: [call('tick', {})] };
          }
          if (request.toolChoice === 'none') {
            asked.open();
            await sent.passed;
            return 'summed up';
          }
          return `knows ${request.messages.flatMap((message) => (message.role === 'user' ? [message.content] : [])).at(-1)}`;
        }
        const [ref] = startedIn(request);
        if (facts.step === 1) return { calls: [beside('dig', 'x')] };
        if (facts.step === 2) {
          await asked.passed;
          return { calls: [call('send_to_subagent', { ref, message: 'a hint' })] };
        }
        if (facts.step === 3) {
          sent.open();
          return { calls: [call('wait_subagents', {})] };
        }
        if (facts.step === 4)
          return { calls: [call('run_skill', { name: 'dig', arguments: 'go on', continue_from: ref })] };
        return 'done';
      },
      { store, tools: [tick] },
    );
    await (await runtime.session()).send('go').result;
    expect(arrivedIn(model.requests.at(-1) as ModelRequest).map(({ status, answer }) => `${status} ${answer}`)).toEqual(
      ['limit:steps summed up', 'completed knows a hint'],
    );
    checkLogs(await logsOf(store));
  });

  it('wakes a child that waits for children of its own', async () => {
    const shop = workshop();
    const tools = 'run_skill, wait_subagents, cancel_subagent';
    shop.skill('lead', { runAs: 'subagent', 'allowed-tools': tools }, 'You lead.');
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { store } = recordingStore();
    const waiting = gate();
    const { runtime, model } = await shop.open(
      async (request, facts) => {
        const [ref] = startedIn(request);
        if (request.skill === 'dig') return { faults: [{ hang: true, times: 'always' }] };
        if (request.skill) {
          if (facts.step === 1) return { calls: [beside('dig', 'for ever')] };
          if (facts.message === 'enough') return { calls: [call('cancel_subagent', { ref })] };
          if (facts.step === 2) waiting.open();
          return facts.step === 2 ? 'I wait' : 'stopped it';
        }
        if (facts.step === 1) return { calls: [beside('lead', 'x')] };
        if (facts.step === 2) {
          await waiting.passed;
          return { calls: [call('send_to_subagent', { ref, message: 'enough' })] };
        }
        return 'done';
      },
      { store },
    );
    await (await runtime.session()).send('go').result;
    expect(arrivedIn(model.requests.at(-1) as ModelRequest)).toMatchObject([
      { status: 'completed', answer: 'stopped it' },
    ]);
    checkLogs(await logsOf(store));
  });
});
