import { expect } from 'vitest';
import { z } from 'zod';
import type { SessionEvent, StoredEvent } from '../../src/core/events.ts';
import { addUsage, noUsage, type Usage } from '../../src/core/usage.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import type { SessionStore } from '../../src/store/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { call } from '../runtime/workshop.ts';

/** A call of `run_skill` that does not wait. */
export const beside = (name: string, task: string, more: Record<string, unknown> = {}) =>
  call('run_skill', { name, arguments: task, background: true, ...more });

/** What a child does that has more than one step. */
export const tick = defineTool({
  name: 'tick',
  description: 'Passes time.',
  input: z.object({}),
  effects: 'read',
  execute: async () => 'tick',
});

/** References of the children that a request's history has as started, in order. */
export const startedIn = ({ messages }: ModelRequest): string[] => [
  ...new Set(
    messages.flatMap((message) =>
      message.role === 'tool' ? [...(/Subagent reference: (sa_\w+)/.exec(message.content)?.slice(1) ?? [])] : [],
    ),
  ),
];

/** What came of children, as notices or as results of a wait: status and last line, in the order of arrival. */
export const arrivedIn = ({ messages }: ModelRequest): { ref: string; status: string; answer: string }[] =>
  messages.flatMap((message) => {
    if (message.role === 'assistant') return [];
    const parts = message.content.split(/^(?=Subagent reference: )/m).filter((part) => part.startsWith('Subagent'));
    return parts.flatMap((part) => {
      const ref = /^Subagent reference: (\S+)/.exec(part)?.[1] ?? '';
      const status = /^Status: (\S+)/m.exec(part)?.[1] ?? '';
      if (status === 'running') return [];
      return [{ ref, status, answer: part.trim().split('\n').at(-1) ?? '' }];
    });
  });

/** Results of the calls so far. */
export const resultsIn = ({ messages }: ModelRequest): string[] =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));

/** Messages that the runtime added. */
export const noticesIn = ({ messages }: ModelRequest): string[] =>
  messages.flatMap((message) => (message.role === 'user' && message.origin === 'notice' ? [message.content] : []));

export interface Gate {
  open(): void;
  readonly passed: Promise<void>;
}

export function gate(): Gate {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

interface Append {
  session: string;
  from: number;
  events: readonly SessionEvent[];
}

/** A store that remembers what was written, in order: every prefix of that is a way to die. */
export function recordingStore(): { store: SessionStore; appends: readonly Append[] } {
  const store = memoryStore();
  const appends: Append[] = [];
  const { append } = store;
  store.append = async (session, from, events, lease) => {
    const stored = await append.call(store, session, from, events, lease);
    appends.push({ session, from, events });
    return stored;
  };
  return { store, appends };
}

/** The logs as a process that died after these appends left them. */
export async function storeOf(appends: readonly Append[]): Promise<SessionStore> {
  const store = memoryStore();
  for (const { session, from, events } of appends) await store.append(session, from, events);
  return store;
}

/** Every session of the tree, with its events. */
export async function logsOf(store: SessionStore): Promise<Map<string, StoredEvent[]>> {
  const { sessions } = await store.list({}, { limit: 1000, order: 'oldest' });
  const logs = new Map<string, StoredEvent[]>();
  for (const { session } of sessions) logs.set(session, await store.read(session));
  return logs;
}

/**
 * What must hold in the logs of a tree that has come to its end: no turn open, every background child
 * delivered once and its usage counted once, no call with two children, every message read.
 */
export function checkLogs(logs: ReadonlyMap<string, StoredEvent[]>): void {
  const own = new Map<string, Usage>();
  const calls = new Set<string>();
  for (const [session, events] of logs) {
    const of = <T extends SessionEvent['type']>(type: T) =>
      events.filter((event): event is Extract<StoredEvent, { type: T }> => event.type === type);
    expect(events.at(-1)?.type, `${session} ends with`).toBe('turn.ended');
    const started = of('subagent.started').map((event) => `${event.call} ${event.child}`);
    expect(
      of('subagent.ended')
        .map((event) => `${event.call} ${event.child}`)
        .sort(),
    ).toEqual([...started].sort());
    const charged = of('usage').map((event) => `${event.call} ${event.child}`);
    expect(new Set(charged).size).toBe(charged.length);
    for (const key of started) expect(charged).toContain(key);
    const read = of('user.message').flatMap(({ origin, from }) => (origin === 'notice' && from ? [from.call] : []));
    expect(read.sort()).toEqual(
      of('message.received')
        .map(({ from }) => from.call)
        .sort(),
    );
    const parent = of('session.started')[0]?.parent;
    if (parent) {
      const key = `${parent.session} ${parent.call}`;
      expect(calls.has(key), `two children of ${key}`).toBe(false);
      calls.add(key);
    }
    own.set(
      session,
      of('assistant.message').reduce((sum, { usage }) => addUsage(sum, usage), noUsage()),
    );
  }
  for (const [session, events] of logs) {
    if (!events.some((event) => event.type === 'session.started' && event.kind === 'root')) continue;
    const below = [...own].reduce((sum, [id, usage]) => (id === session ? sum : addUsage(sum, usage)), noUsage());
    const charged = events.reduce(
      (sum, event) => (event.type === 'usage' ? addUsage(sum, event.usage) : sum),
      noUsage(),
    );
    expect(charged, 'what the root says that its children used').toEqual(below);
  }
}
