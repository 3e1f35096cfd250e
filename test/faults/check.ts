import { existsSync, readFileSync } from 'node:fs';
import type { EventOf, StoredEvent } from '../../src/core/events.ts';
import { addCost, addUsage, noUsage, type Usage } from '../../src/core/usage.ts';
import { Thread } from '../../src/session/thread.ts';
import type { SessionStore } from '../../src/store/contract.ts';
import { type Life, type Logs, readLogs } from './lives.ts';
import { ANSWER, LINES } from './scenario.ts';

type Stored<T extends StoredEvent['type']> = StoredEvent & EventOf<T>;

const ofType = <T extends StoredEvent['type']>(events: readonly StoredEvent[], type: T): Stored<T>[] =>
  events.filter((event): event is Stored<T> => event.type === type);

/** Model calls that were finished: answers, and summaries of a context. */
const answersOf = (events: readonly StoredEvent[] = []): number =>
  ofType(events, 'assistant.message').length +
  ofType(events, 'context.compacted').filter(({ usage }) => usage !== undefined).length;

export interface Accounts {
  own: Usage;
  ownCost: number | undefined;
  inclusive: Usage;
  inclusiveCost: number | undefined;
  sum: Usage;
  steps: number;
  spawns: number;
  sessions: string[];
}

/** What the tree of a root has used, by its own account and by the sum over all logs. */
export function accountsOf(logs: Logs): Accounts {
  const threads = [...logs].map(([session, events]) => Thread.fold(session, events));
  const root = threads.find(({ started }) => started?.kind === 'root');
  if (!root) throw new Error('there is no root');
  const usages = ofType(logs.get(root.session) ?? [], 'usage');
  return {
    own: root.usage,
    ownCost: root.cost,
    inclusive: addUsage(root.usage, root.childUsage),
    inclusiveCost: round(usages.reduce((total, { cost }) => addCost(total, cost), root.cost)),
    sum: threads.reduce((total, { usage }) => addUsage(total, usage), noUsage()),
    steps: root.steps + usages.reduce((total, { steps }) => total + steps, 0),
    spawns: usages.reduce((total, { spawns }) => total + spawns, 0),
    sessions: threads.map(({ started }) => `${started?.depth} ${started?.skill?.name ?? 'root'}`).sort(),
  };
}

/** Sums of prices in another order differ in their last digits. */
const round = (value: number | undefined) => (value === undefined ? undefined : Number(value.toPrecision(10)));

/** Everything that must hold of a log on its own: each is a violation, in words. */
export function logViolations(session: string, events: readonly StoredEvent[]): string[] {
  const wrong: string[] = [];
  const asked = new Map<string, number>();
  const answered = new Map<string, number>();
  let open = false;
  for (const [index, event] of events.entries()) {
    const say = (text: string) => wrong.push(`${session} event ${event.seq} (${event.type}): ${text}`);
    if (event.seq !== index + 1) say(`stands at place ${index + 1}`);
    if ((event.type === 'session.started') !== (index === 0)) say('is not where it belongs');
    if (event.type === 'user.message' && event.origin !== 'notice' && event.origin !== 'nudge') {
      if (open) say('begins a turn in a turn');
      open = true;
    } else if (event.type === 'turn.ended') {
      if (!open) say('ends no turn');
      open = false;
      const left = [...asked.keys()].filter((call) => !answered.has(call));
      if (left.length > 0) say(`leaves calls without a result: ${left}`);
    } else if (event.type === 'assistant.message') {
      const left = [...asked.keys()].filter((call) => !answered.has(call));
      if (left.length > 0) say(`comes before the results of ${left}`);
      for (const { id } of event.toolCalls) {
        if (asked.has(id)) say(`asks ${id} again`);
        asked.set(id, event.seq);
      }
    } else if (event.type === 'tool.result' || event.type === 'tool.started') {
      if (!asked.has(event.call)) say(`nobody asked for ${event.call}`);
      if (answered.has(event.call)) say(`${event.call} has a result already`);
      if (event.type === 'tool.result') answered.set(event.call, event.seq);
    }
  }
  if (open) wrong.push(`${session}: its turn has no end`);
  const starts = ofType(events, 'tool.started').filter(({ effects }) => effects === 'write');
  for (const { call } of starts) {
    if (starts.filter((start) => start.call === call).length > 1)
      wrong.push(`${session}: the write ${call} began twice`);
  }
  return wrong;
}

/** Everything that must hold after the last life. */
export async function violations(options: {
  store: SessionStore;
  lives: readonly Life[];
  written: string;
  expected: Accounts;
}): Promise<string[]> {
  const { store, lives, written, expected } = options;
  const logs = await readLogs(store);
  const wrong = [...logs].flatMap(([session, events]) => logViolations(session, events));
  const root = [...logs.values()].find(([first]) => first?.type === 'session.started' && first.kind === 'root') ?? [];
  const end = ofType(root, 'turn.ended').at(-1);
  if (end?.status !== 'completed' || end.answer !== ANSWER) {
    wrong.push(`the answer is ${JSON.stringify(end?.answer)}, ${end?.status}: ${end?.reason ?? ''}`);
  }
  for (const [index, { error }] of lives.entries()) if (error) wrong.push(`life ${index + 1} ended with ${error}`);
  wrong.push(...(await leaseViolations(store)));
  wrong.push(...accountViolations(accountsOf(logs), expected));
  wrong.push(...childViolations(logs));
  wrong.push(...messageViolations(logs));
  wrong.push(...askViolations(lives));
  wrong.push(...writeViolations(lives, logs, written));
  const nudges = ofType(root, 'required.nudged').length;
  if (nudges !== 1) wrong.push(`${nudges} nudges for the required skill`);
  return wrong;
}

async function leaseViolations(store: SessionStore): Promise<string[]> {
  const { sessions } = await store.list({}, { limit: 1000 });
  return sessions.flatMap(({ session, holder }) => (holder === undefined ? [] : [`${session} is still held`]));
}

function accountViolations(actual: Accounts, expected: Accounts): string[] {
  const wrong = (Object.keys(expected) as (keyof Accounts)[]).flatMap((key) => {
    const [is, should] = [JSON.stringify(actual[key]), JSON.stringify(expected[key])];
    return is === should ? [] : [`${key} is ${is} and not ${should}`];
  });
  if (JSON.stringify(actual.sum) !== JSON.stringify(actual.inclusive)) wrong.push('the sum over sessions is another');
  return wrong;
}

/** Each call has one child, and each child's answer reached the call once. */
function childViolations(logs: Logs): string[] {
  const wrong: string[] = [];
  const callers = new Set<string>();
  for (const [session, events] of logs) {
    const [started] = events;
    if (started?.type !== 'session.started' || !started.parent) continue;
    const caller = `${started.parent.session} ${started.parent.call}`;
    if (callers.has(caller)) wrong.push(`two children of the call ${caller}`);
    callers.add(caller);
    const turns = ofType(events, 'user.message').filter(({ origin }) => origin === 'task' || origin === 'continuation');
    for (const { from, seq } of turns) {
      const parent = logs.get(from?.session ?? '') ?? [];
      const told = deliveries(parent, session, from?.call ?? '');
      if (told !== 1) wrong.push(`the turn of ${session} at ${seq} was delivered ${told} times`);
      const usages = ofType(parent, 'usage').filter(({ call }) => call === from?.call);
      if (usages.length !== 1) wrong.push(`the turn of ${session} at ${seq} was charged ${usages.length} times`);
    }
  }
  return wrong;
}

/** How often the end of a turn of `child` reached its parent: as a result, as one of its items, or as a message. */
function deliveries(parent: readonly StoredEvent[], child: string, call: string): number {
  const ending = new RegExp(`^(?:Subagent reference: ${child}\nStatus: completed\n|Item \\d+ · ${child}: )`, 'm');
  const isBackground = ofType(parent, 'subagent.started').some((started) => started.call === call);
  return parent.filter((event) => {
    if (event.type === 'tool.result') {
      return ending.test(event.content) && (isBackground || event.call === call.split('#')[0]);
    }
    return isBackground && event.type === 'user.message' && event.child === child && ending.test(event.content);
  }).length;
}

/** A message that a call has sent came once, and was read once. */
function messageViolations(logs: Logs): string[] {
  const wrong: string[] = [];
  const all = [...logs.values()].flat();
  for (const [session, events] of logs) {
    const calls = ofType(events, 'tool.result').filter(({ name }) => name === 'send_to_subagent');
    if (calls.length === 0 && session.startsWith('s_')) wrong.push('no message was sent');
    for (const { call, isError } of calls) {
      const isIts = ({ from }: { from?: { call: string } | undefined }) => from?.call === call;
      const came = ofType(all, 'message.received').filter(isIts).length;
      const read = ofType(all, 'user.message').filter(isIts).length;
      if (isError || came !== 1 || read !== 1) wrong.push(`the message of ${call} came ${came} times, read ${read}`);
    }
  }
  return wrong;
}

/** A finished call is never made again; one that was cut, once a life and session. */
function askViolations(lives: readonly Life[]): string[] {
  return lives.flatMap(({ before, after, asked, diedAt }, index) =>
    [...asked].flatMap(([session, count]) => {
      const finished = answersOf(after.get(session)) - answersOf(before.get(session));
      const cut = count - finished;
      if (cut === 0 || (cut === 1 && diedAt !== undefined)) return [];
      return [`life ${index + 1}: ${session} asked ${count} times, and ${finished} answers were kept`];
    }),
  );
}

/** A write happened at most once, and what the log says of it is true. */
function writeViolations(lives: readonly Life[], logs: Logs, written: string): string[] {
  const wrong: string[] = [];
  const lines = existsSync(written) ? readFileSync(written, 'utf8').split('\n').filter(Boolean) : [];
  const cut = new Set(lives.slice(0, -1).flatMap(({ after }) => [...after].flatMap(openWrites)));
  let asked = 0;
  for (const [session, events] of logs) {
    for (const { id, name, arguments: input } of ofType(events, 'assistant.message').flatMap((one) => one.toolCalls)) {
      if (name !== 'note') continue;
      asked++;
      const { line } = JSON.parse(input) as { line: string };
      const count = lines.filter((one) => one === line).length;
      const result = ofType(events, 'tool.result').find(({ call }) => call === id);
      if (count > 1) wrong.push(`"${line}" was written ${count} times`);
      if (cut.has(`${session} ${id}`)) {
        if (!result?.content.startsWith('interrupted: it may')) wrong.push(`"${line}" was cut and ${result?.content}`);
      } else if (count !== 1 || result?.content !== 'written') {
        wrong.push(`"${line}" stands ${count} times and its result is ${JSON.stringify(result)}`);
      }
    }
  }
  if (asked !== LINES.length) wrong.push(`${asked} writes were asked for`);
  const foreign = lines.filter((line) => !LINES.includes(line));
  if (foreign.length > 0) wrong.push(`nobody asked for ${foreign}`);
  return wrong;
}

/** Writes that had begun and have no result: nobody can know about them. */
function openWrites([session, events]: [string, StoredEvent[]]): string[] {
  const done = new Set(ofType(events, 'tool.result').map(({ call }) => call));
  return ofType(events, 'tool.started').flatMap(({ call, effects }) =>
    effects === 'write' && !done.has(call) ? [`${session} ${call}`] : [],
  );
}
