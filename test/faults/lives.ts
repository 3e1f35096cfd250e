import type { StoredEvent } from '../../src/core/events.ts';
import { Thread } from '../../src/session/thread.ts';
import type { SessionStore } from '../../src/store/contract.ts';
import { Machine } from './machine.ts';
import { openLife, type Place, TASK } from './scenario.ts';

/** Every session of a store, by id. */
export type Logs = Map<string, StoredEvent[]>;

/** One process of a run: what it found, what it asked models, and what it left. */
export interface Life {
  before: Logs;
  after: Logs;
  /** Model calls begun, a session. */
  asked: Map<string, number>;
  /** The point at which it died. */
  diedAt?: string | undefined;
  points: number;
  /** What ended it when neither death nor the end of the task did. */
  error?: unknown;
}

export async function readLogs(store: SessionStore): Promise<Logs> {
  const logs: Logs = new Map();
  for (let cursor: string | undefined; ; ) {
    const { sessions, next } = await store.list({}, { limit: 1000, order: 'oldest', cursor });
    for (const { session } of sessions) logs.set(session, await store.read(session));
    if (next === undefined) return logs;
    cursor = next;
  }
}

/** What the next process has to do with the task: nothing when it is done. */
export function rest(logs: Logs): { kind: 'new' } | { kind: 'resume' | 'send'; root: string } | undefined {
  const root = [...logs.values()].find(([first]) => first?.type === 'session.started' && first.kind === 'root');
  const started = root?.[0];
  if (!root || started?.type !== 'session.started') return { kind: 'new' };
  const thread = Thread.fold(started.session, root);
  if (thread.turn) return { kind: 'resume', root: started.session };
  return thread.lastTurn ? undefined : { kind: 'send', root: started.session };
}

/** Goes on with the task in a runtime, whatever was done of it. */
export async function goOn(place: Place, machine: Machine, logs: Logs, concurrency?: number): Promise<void> {
  const todo = rest(logs);
  if (!todo) return;
  const runtime = await openLife(place, machine, concurrency);
  try {
    if (todo.kind === 'new') {
      const session = await runtime.session({ required: ['rules'] });
      await session.send(TASK).result;
    } else {
      const session = await runtime.session({ resume: todo.root });
      await (todo.kind === 'resume' ? session.resume() : session.send(TASK)).result;
    }
  } finally {
    await runtime.close();
  }
}

/** Runs the task in as many lives as it takes: one dies at each of `deaths`, the last one is left alone. */
export async function runLives(options: {
  place: Place;
  store: SessionStore;
  deaths: readonly number[];
  concurrency?: number | undefined;
  jitter?: (() => Promise<void>) | undefined;
}): Promise<Life[]> {
  const { place, store, concurrency, jitter } = options;
  const lives: Life[] = [];
  const machines: Machine[] = [];
  for (const dieAt of [...options.deaths, undefined]) {
    const before = await readLogs(store);
    const asked = new Map<string, number>();
    const machine = new Machine({
      store,
      dieAt,
      jitter,
      asked: (session) => asked.set(session, (asked.get(session) ?? 0) + 1),
    });
    machines.push(machine);
    const running = goOn(place, machine, before, concurrency);
    const ended = running.then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    const failure = await Promise.race([ended, machine.death.then(() => undefined)]);
    if (machine.isDead) await machine.settle();
    lives.push({
      before,
      after: await readLogs(store),
      asked,
      diedAt: machine.isDead ? machine.points.at(-1) : undefined,
      points: machine.points.length,
      ...failure,
    });
  }
  for (const machine of machines) machine.bury();
  return lives;
}
