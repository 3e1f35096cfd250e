import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/models/contract.ts';
import type { ScriptedFunction } from '../../src/models/scripted.ts';
import { call, type Workshop, workshop } from '../runtime/workshop.ts';
import { arrivedIn, beside, checkLogs, logsOf, recordingStore, startedIn, storeOf, tick } from './background-bench.ts';

/** `none` of them but by its request: what a script answers is the same in every life of a session. */
interface Scenario {
  name: string;
  answer: string;
  skills: Record<string, Record<string, unknown>>;
  script: ScriptedFunction;
  overrides?: string[];
  limits?: { steps: number };
}

const answersOf = (request: ModelRequest) =>
  arrivedIn(request)
    .map(({ answer }) => answer)
    .sort()
    .join('+');

const SCENARIOS: Scenario[] = [
  {
    name: 'nested children, delivered as they end',
    answer: 'all: dug p+dug qa-dug qb',
    skills: { lead: {}, dig: {} },
    overrides: ['agent.max_concurrent=2'],
    script: (request, facts) => {
      if (request.skill === 'dig') return facts.step === 1 ? { calls: [call('tick', {})] } : `dug ${facts.task}`;
      if (request.skill === 'lead') {
        if (facts.step === 1) return { calls: [beside('dig', `${facts.task}a`), beside('dig', `${facts.task}b`)] };
        return arrivedIn(request).length === 2 ? answersOf(request).replace('+', '-') : 'not yet';
      }
      if (facts.step === 1) return { calls: [beside('dig', 'p'), beside('lead', 'q')] };
      if (facts.step === 2) return { calls: [call('tick', {})] };
      return arrivedIn(request).length === 2 ? `all: ${answersOf(request)}` : 'not yet';
    },
  },
  {
    name: 'waits, for any and for all',
    answer: 'all: dug a+dug b+dug c',
    skills: { dig: {} },
    script: (request, facts) => {
      if (request.skill) return `dug ${facts.task}`;
      if (facts.step === 1)
        return {
          calls: [...['a', 'b', 'c'].map((task) => beside('dig', task)), call('wait_subagents', { mode: 'any' })],
        };
      if (facts.step === 2) return { calls: [call('wait_subagents', {}), call('wait_subagents', {})] };
      return `all: ${answersOf(request)}`;
    },
  },
  {
    name: 'messages to a child that runs, then a continuation beside the turn',
    answer: 'all: heard now+heard now again',
    skills: { dig: { 'max-steps': 500 } },
    script: (request, facts) => {
      if (request.skill) {
        const said = request.messages.flatMap((message) => (message.role === 'user' ? [message.content] : [])).slice(1);
        return said.includes('now') ? `heard ${said.join(' ')}` : { calls: [call('tick', {})] };
      }
      const [ref] = startedIn(request);
      if (facts.step === 1) return { calls: [beside('dig', 'listen')] };
      if (facts.step === 2)
        return { calls: [call('send_to_subagent', { ref, message: 'now' }), call('wait_subagents', {})] };
      if (facts.step === 3) return { calls: [beside('dig', 'again', { continue_from: ref })] };
      return arrivedIn(request).length === 2 ? `all: ${answersOf(request)}` : 'not yet';
    },
  },
  {
    name: 'a cancelled child',
    answer: 'all: cancelled',
    skills: { dig: { 'max-steps': 500 } },
    script: (request, facts) => {
      if (request.skill) return { calls: [call('tick', {})] };
      if (facts.step === 1) return { calls: [beside('dig', 'for ever')] };
      if (facts.step === 2) return { calls: [call('cancel_subagent', { ref: startedIn(request)[0] })] };
      return `all: ${arrivedIn(request).map(({ status }) => status)}`;
    },
  },
];

async function resumeAll(shop: Workshop, scenario: Scenario): Promise<number> {
  const { store, appends } = recordingStore();
  const { script, overrides = [], answer } = scenario;
  const options = { tools: [tick], overrides };
  const { runtime } = await shop.open(script, { ...options, store });
  const session = await runtime.session();
  const run = await session.send('go').result;
  expect(run).toMatchObject({ status: 'completed', answer });
  checkLogs(await logsOf(store));
  const first = appends.findIndex((append) => append.events.some((event) => event.type === 'user.message'));
  let resumed = 0;
  for (let length = first + 1; length < appends.length; length++) {
    const copy = await storeOf(appends.slice(0, length));
    const after = await shop.open(script, { ...options, store: copy });
    const cut = await after.runtime.session({ resume: session.id });
    if (cut.isCut) {
      const end = await cut.resume().result;
      expect(end, `cut after ${length} of ${appends.length} appends`).toMatchObject({ status: 'completed', answer });
      resumed++;
    }
    checkLogs(await logsOf(copy));
    await after.runtime.close();
  }
  return resumed;
}

describe('a tree that was cut after any of its appends comes to the same end, each child delivered once:', () => {
  it.each(SCENARIOS)(
    '$name',
    async (scenario) => {
      const shop = workshop();
      for (const [name, header] of Object.entries(scenario.skills))
        shop.skill(name, { runAs: 'subagent', ...header }, `You ${name}.`);
      expect(await resumeAll(shop, scenario)).toBeGreaterThan(8);
    },
    120_000,
  );
});

describe('a turn that was cut', () => {
  /** A tree whose root, with `isBeside`, and lead have children beside them that are half way, as a dead process left it. */
  async function cutTree(shop: Workshop, isBeside = true) {
    shop.skill('lead', { runAs: 'subagent' }, 'You lead.');
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { store, appends } = recordingStore();
    const stop = new AbortController();
    const { runtime } = await shop.open(
      (request, facts) => {
        if (request.skill === 'dig') {
          if (facts.step === 1) return { text: 'half a hole', calls: [call('tick', {})] };
          setTimeout(() => stop.abort(), 20);
          return { faults: [{ hang: true, times: 'always' }] };
        }
        if (facts.step === 1) {
          if (request.skill) return { text: 'I begin', calls: [beside('dig', 'x')] };
          return { calls: [isBeside ? beside('lead', 'x') : call('run_skill', { name: 'lead', arguments: 'x' })] };
        }
        return 'I wait';
      },
      { store, tools: [tick] },
    );
    const session = await runtime.session();
    await session.send('go', { signal: stop.signal }).result;
    const firstEnd = appends.findIndex(({ events }) => events.some(({ type }) => type === 'turn.ended'));
    const alive = appends.slice(0, firstEnd);
    const lead = alive.find(({ session: id, from }) => from === 0 && id !== session.id)?.session ?? '';
    return { store: await storeOf(alive), session: session.id, lead };
  }

  it('that a new message follows is finished first', async () => {
    const shop = workshop();
    const { store, session } = await cutTree(shop);
    const { runtime } = await shop.open(
      (request, facts) => {
        if (request.skill === 'dig') return 'whole hole';
        if (arrivedIn(request).length === 0) return 'not yet';
        return facts.turn === 2 ? `then ${answersOf(request)}` : answersOf(request);
      },
      { store, tools: [tick] },
    );
    const run = await (await runtime.session({ resume: session })).send('and then?').result;
    expect(run.answer).toBe('then whole hole');
    checkLogs(await logsOf(store));
  });

  it('is reported with all that it took, also by children whose parents had nothing to say yet', async () => {
    const shop = workshop();
    const { store, session } = await cutTree(shop);
    const stepsIn = async () =>
      [...(await logsOf(store)).values()].flat().filter(({ type }) => type === 'assistant.message').length;
    const before = await stepsIn();
    const { runtime } = await shop.open(
      (request) => {
        const text = request.skill === 'dig' ? 'whole hole' : arrivedIn(request).length === 0 ? 'not yet' : 'over';
        return { text, usage: { input: 10, output: 0 } };
      },
      { store, tools: [tick] },
    );
    const { subagents, steps, usage } = await (await runtime.session({ resume: session })).resume().result;
    expect(subagents.map(({ skill, depth, status }) => ({ skill, depth, status }))).toEqual([
      { skill: 'lead', depth: 1, status: 'completed' },
      { skill: 'dig', depth: 2, status: 'completed' },
    ]);
    const taken = (await stepsIn()) - before;
    expect(subagents.reduce((sum, child) => sum + child.steps, steps)).toBe(taken);
    expect(usage.total.input).toBe(10 * taken);
  });

  it('is not the business of a copy, which is told so', async () => {
    const shop = workshop();
    const { store, session, lead } = await cutTree(shop);
    const { runtime } = await shop.open(() => 'on my own', { store, tools: [tick] });
    const forked = await runtime.session({ fork: session });
    expect((await forked.send('go on').result).subagents).toEqual([]);
    const events = await store.read(forked.id);
    expect(events.filter(({ type }) => type.startsWith('subagent.'))).toEqual([]);
    expect(
      events.flatMap((event) => (event.type === 'user.message' && event.origin === 'notice' ? [event.content] : [])),
    ).toEqual([
      `Sub-agents ${lead} still ran when this session was copied. Their results go to the original; fork_from copies them.`,
    ]);
    // The original still has its own.
    expect((await runtime.session({ resume: session })).isCut).toBe(true);
  });

  it('and that its caller gives up ends with all below it, and can be continued', async () => {
    const shop = workshop();
    const { store, session, lead } = await cutTree(shop, false);
    const aborted = AbortSignal.abort();
    const script: ScriptedFunction = (request, facts) => {
      if (request.skill === 'dig') return 'never';
      if (request.skill) return `knows of ${arrivedIn(request).map(({ status, answer }) => `${status} ${answer}`)}`;
      if (facts.turnStep > 1) return arrivedIn(request).at(-1)?.answer ?? '';
      return { calls: [call('run_skill', { name: 'lead', arguments: 'go on', continue_from: lead })] };
    };
    const { runtime } = await shop.open(script, { store, tools: [tick] });
    const root = await runtime.session({ resume: session });
    expect((await root.resume({ signal: aborted }).result).status).toBe('cancelled');
    expect((await store.read(lead)).at(-1)).toMatchObject({ type: 'turn.ended', status: 'cancelled' });
    const run = await root.send('again').result;
    expect(run.answer).toBe('knows of cancelled half a hole');
    for (const events of (await logsOf(store)).values()) expect(events.at(-1)?.type).toBe('turn.ended');
    const types = (await store.read(lead)).map(({ type }) => type);
    expect(types.filter((type) => type === 'subagent.ended')).toHaveLength(1);
  });

  it('by a limit ends by it again', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { store, appends } = recordingStore();
    const script: ScriptedFunction = (request, facts) => {
      if (request.toolChoice === 'none') return 'in the end';
      if (request.skill) return { text: 'half a hole', calls: [call('tick', {})] };
      return { calls: facts.step === 1 ? [beside('dig', 'for ever')] : [call('tick', {})] };
    };
    const limits = { steps: 3 };
    const { runtime } = await shop.open(script, { store, tools: [tick], limits });
    const session = await runtime.session();
    await session.send('go').result;
    for (let length = 2; length < appends.length; length++) {
      const copy = await storeOf(appends.slice(0, length));
      const after = await shop.open(script, { store: copy, tools: [tick], limits });
      const cut = await after.runtime.session({ resume: session.id });
      if (cut.isCut) expect(await cut.resume().result).toMatchObject({ status: 'limit', answer: 'in the end' });
      checkLogs(await logsOf(copy));
    }
  }, 60_000);
});
