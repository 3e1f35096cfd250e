import { describe, expect, it } from 'vitest';
import { call, workshop } from '../runtime/workshop.ts';
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
} from './background-bench.ts';

describe('children beside the turn', () => {
  it('come back as messages when they have ended; the turn waits for them', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { store } = recordingStore();
    const { runtime, model } = await shop.open(
      (request, facts) => {
        if (request.skill) return `dug ${facts.task}`;
        if (facts.step === 1) return { calls: [beside('dig', 'one'), beside('dig', 'two')] };
        const arrived = arrivedIn(request);
        return arrived.length === 2 ? `got ${arrived.map(({ answer }) => answer).sort()}` : 'let us see';
      },
      { store },
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run).toMatchObject({ status: 'completed', answer: 'got dug one,dug two' });
    expect(run.subagents.map(({ status, depth }) => `${status} ${depth}`)).toEqual(['completed 1', 'completed 1']);
    const last = model.requests.at(-1);
    const started = last?.messages.find((message) => message.role === 'tool');
    expect(started?.content).toMatch(
      /^Subagent reference: sa_\w+\nStatus: running\nSkill: dig\nIt runs in the background\./,
    );
    expect(last?.messages.filter((message) => message.role === 'user').map(({ origin }) => origin)).toEqual([
      'user',
      'notice',
      'notice',
    ]);
    checkLogs(await logsOf(store));
  });

  it('F24: six that end in one tick while the parent streams arrive once each, in one order', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    shop.skill('hang', { runAs: 'subagent', timeout: '1s' }, 'You hang.');
    const allAsked = gate();
    const release = gate();
    const allEnded = gate();
    let asked = 0;
    let ended = 0;
    const { store } = recordingStore();
    const { runtime, model } = await shop.open(
      async (request, facts) => {
        if (request.skill === 'hang') {
          return request.toolChoice === 'none' ? 'nothing yet' : { faults: [{ hang: true, times: 'always' }] };
        }
        if (request.skill) {
          if (facts.task === 'first' && facts.turn === 1) return 'the first';
          if (++asked === 5) allAsked.open();
          await release.passed;
          return `dug ${facts.user}`;
        }
        if (facts.turn === 1)
          return facts.step === 1 ? { calls: [call('run_skill', { name: 'dig', arguments: 'first' })] } : 'ok';
        if (facts.turnStep === 1) {
          const [first] = startedIn(request);
          return {
            calls: [
              beside('dig', 'a'),
              beside('dig', 'b'),
              beside('hang', 'c'),
              beside('dig', 'more', { continue_from: first }),
              beside('dig', 'd'),
              beside('dig', 'e'),
            ],
          };
        }
        if (facts.turnStep === 2) {
          await allAsked.passed;
          release.open();
          await allEnded.passed;
          return 'a long stream';
        }
        return 'all there';
      },
      { store },
    );
    const session = await runtime.session();
    await session.send('begin').result;
    runtime.observe((seen) => {
      if (seen.kind === 'event' && seen.event.type === 'turn.ended' && seen.session !== session.id && ++ended === 6)
        allEnded.open();
    });
    const run = await session.send('all at once').result;
    expect(run.answer).toBe('all there');
    const arrived = arrivedIn(model.requests.at(-1)!).slice(1);
    expect(arrived.map(({ status, answer }) => `${status} ${answer}`).sort()).toEqual([
      'completed dug a',
      'completed dug b',
      'completed dug d',
      'completed dug e',
      'completed dug more',
      'limit:time nothing yet',
    ]);
    expect(new Set(arrived.map(({ ref }) => ref)).size).toBe(6);
    // By the time of the end, then in the order of the calls.
    const logs = await logsOf(store);
    const endOf = (ref: string) => logs.get(ref)?.at(-1)?.at ?? '';
    const calls = logs
      .get(session.id)!
      .flatMap((event) => (event.type === 'assistant.message' ? event.toolCalls : []))
      .map(({ id }) => id);
    const callOf = (ref: string) =>
      logs
        .get(session.id)!
        .flatMap((event) =>
          event.type === 'subagent.started' && event.child === ref ? [calls.indexOf(event.call)] : [],
        )[0] ?? -1;
    const sorted = [...arrived].sort(
      (x, y) => endOf(x.ref).localeCompare(endOf(y.ref)) || callOf(x.ref) - callOf(y.ref),
    );
    expect(arrived).toEqual(sorted);
    checkLogs(logs);
  });

  it('takes no slot of the parent, and a parent that waits lends its own: one slot does for three levels', async () => {
    const shop = workshop();
    shop.skill('lead', { runAs: 'subagent' }, 'You lead.');
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    let running = 0;
    let most = 0;
    const { store } = recordingStore();
    const { runtime } = await shop.open(
      async (request, facts) => {
        if (request.skill) most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 2));
        if (request.skill) running--;
        if (request.skill === 'dig') return `dug ${facts.task}`;
        const skill = request.skill ? 'dig' : 'lead';
        if (facts.step === 1) return { calls: ['x', 'y'].map((task) => beside(skill, `${facts.task}${task}`)) };
        const arrived = arrivedIn(request);
        return arrived.length === 2
          ? arrived
              .map(({ answer }) => answer)
              .sort()
              .join('+')
          : 'not yet';
      },
      { store, overrides: ['agent.max_concurrent=1'] },
    );
    const run = await (await runtime.session()).send('t').result;
    expect(run.answer).toBe('dug txx+dug txy+dug tyx+dug tyy');
    expect(most).toBe(1);
    expect(run.subagents).toHaveLength(6);
    checkLogs(await logsOf(store));
  });

  it('goes through the admission of all others', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { runtime, model } = await shop.open(
      (request, facts) => {
        if (request.skill) return 'dug';
        if (facts.step === 1) return { calls: ['a', 'b', 'c'].map((task) => beside('dig', task)) };
        return 'done';
      },
      { overrides: ['agent.max_spawns=2'] },
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run.subagents).toHaveLength(2);
    const refused = resultsIn(model.requests.at(-1)!).filter((text) => !text.startsWith('Subagent reference'));
    expect(refused).toEqual([expect.stringContaining('ceiling of 2 sub-agents')]);
  });

  it('has tools for it in a child whose skill names them, but not at the deepest level, and none at all when it is switched off', async () => {
    const names = ['wait_subagents', 'cancel_subagent', 'send_to_subagent'];
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent', 'allowed-tools': `run_skill ${names.join(' ')}` }, 'You dig.');
    const script = (request: { skill?: string | undefined }, facts: { step: number }) => {
      if (request.skill) return 'dug';
      return facts.step === 1 ? { calls: [beside('dig', 'a')] } : 'done';
    };
    const usual = await shop.open(script);
    await (await usual.runtime.session()).send('go').result;
    const deepest = await shop.open(script, { overrides: ['agent.max_depth=1'] });
    await (await deepest.runtime.session()).send('go').result;
    const toolsOf = (requests: typeof deepest.model.requests, isChild: boolean) =>
      requests.find((request) => (request.skill !== undefined) === isChild)?.tools.map(({ name }) => name) ?? [];
    expect(toolsOf(usual.model.requests, true)).toEqual(expect.arrayContaining(names));
    expect(toolsOf(deepest.model.requests, false)).toEqual(expect.arrayContaining(names));
    expect(toolsOf(deepest.model.requests, true).filter((name) => names.includes(name))).toEqual([]);

    const off = await shop.open(script, { overrides: ['agent.background=false'] });
    const run = await (await off.runtime.session()).send('go').result;
    expect(toolsOf(off.model.requests, false).filter((name) => names.includes(name))).toEqual([]);
    const tool = off.model.requests[0]?.tools.find(({ name }) => name === 'run_skill');
    expect(JSON.stringify(tool)).not.toContain('"background"');
    // A call that asks for it all the same is answered like any other.
    expect(arrivedIn(off.model.requests.at(-1)!)).toMatchObject([{ status: 'completed', answer: 'dug' }]);
    expect(run.status).toBe('completed');
  });

  it('clips and masks a result like that of a call; read_result has the rest', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { runtime, model } = await shop.open(
      (request, facts) => {
        if (request.skill) return `the key is hunter2-hunter2 ${'x'.repeat(5_000)} end`;
        if (facts.step === 1) return { calls: [beside('dig', 'a')] };
        const [ref] = startedIn(request);
        if (arrivedIn(request).length === 0) return 'wait';
        return facts.newResults.length > 0
          ? 'done'
          : { calls: [call('read_result', { reference: ref, offset: 4_000 })] };
      },
      { env: { MY_API_KEY: 'hunter2-hunter2' }, overrides: ['tools.output_limit=2048'] },
    );
    await (await runtime.session()).send('go').result;
    const [notice = ''] = noticesIn(model.requests.at(-1)!);
    expect(Buffer.byteLength(notice)).toBeLessThanOrEqual(2048);
    expect(notice).toMatch(/read_result/);
    expect(notice).not.toContain('hunter2');
    expect(resultsIn(model.requests.at(-1)!).at(-1)).toContain('xxx end');
  });

  it('a middleware that tries the call again starts no second child', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { store } = recordingStore();
    const { runtime } = await shop.open(
      (request, facts) => {
        if (request.skill) return 'dug';
        return facts.step === 1 ? { calls: [beside('dig', 'a')] } : 'done';
      },
      {
        store,
        middleware: [
          {
            name: 'twice',
            aroundTool: async (run, next) => {
              await next(run);
              return next(run);
            },
          },
        ],
      },
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run.subagents).toMatchObject([{ status: 'completed' }]);
    checkLogs(await logsOf(store));
  });

  it('200 children of one root leave no listener behind', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => void warnings.push(warning);
    process.on('warning', warn);
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { store } = recordingStore();
    const { runtime } = await shop.open(
      (request, facts) => {
        if (request.skill) return `dug ${facts.task}`;
        if (facts.step === 1) return { calls: Array.from({ length: 200 }, (_, index) => beside('dig', String(index))) };
        return String(arrivedIn(request).length);
      },
      { store, overrides: ['agent.max_spawns=200', 'agent.max_concurrent=50'] },
    );
    const run = await (await runtime.session()).send('go').result;
    process.off('warning', warn);
    expect(run.subagents).toHaveLength(200);
    checkLogs(await logsOf(store));
    expect(warnings).toEqual([]);
  }, 60_000);
});
