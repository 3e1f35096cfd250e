import { Budget } from '../../src/core/budget.ts';
import { newSessionId } from '../../src/core/ids.ts';
import type { Limits } from '../../src/core/limits.ts';
import { budgets } from '../../src/middleware/budgets.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { type ScriptedFunction, type ScriptedModel, scriptedModel } from '../../src/models/scripted.ts';
import type { Observation, SessionHost } from '../../src/session/host.ts';
import { LeaseKeeper } from '../../src/session/lease-keeper.ts';
import type { Middleware } from '../../src/session/middleware.ts';
import { Session } from '../../src/session/session.ts';
import { Thread } from '../../src/session/thread.ts';
import type { SessionStore } from '../../src/store/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import type { Tool } from '../../src/tools/define-tool.ts';

/** An engine with nothing around it: a store in memory, a scripted model, the tools of the test. */
export interface EngineBench {
  host: SessionHost;
  store: SessionStore;
  model: ScriptedModel;
  seen: Observation[];
  tools: readonly Tool[];
}

export function engine(
  script: ScriptedFunction,
  tools: readonly Tool[] = [],
  options: { chain?: readonly Middleware[]; store?: SessionStore; owner?: string } = {},
): EngineBench {
  const store = options.store ?? memoryStore();
  const model = scriptedModel(script);
  const seen: Observation[] = [];
  const host: SessionHost = {
    store,
    leases: new LeaseKeeper(store, options.owner ?? 'test:1:1:a'),
    chain: options.chain ?? [budgets()],
    resolveModel: async () => ({
      client: model,
      provider: 'scripted',
      model: 'm',
      contextWindow: 1000,
      price: undefined,
    }),
    observe: (observation) => void seen.push(observation),
  };
  return { host, store, model, seen, tools };
}

export async function newSession({ host, tools }: EngineBench): Promise<Session> {
  const session = newSessionId();
  return Session.create(host, {
    info: { session, kind: 'root', root: session, depth: 0, cwd: '/', required: [], inherit: [] },
    system: 'You are tested.',
    tools,
    model: { provider: 'scripted', name: 'm' },
    budget: {},
  });
}

/** The session as another process would find it. */
export async function reopened({ host, store, tools }: EngineBench, id: string): Promise<Session> {
  return Session.open(host, Thread.fold(id, await store.read(id)), () => tools);
}

export const turn = (session: Session, content: string, options: { limits?: Limits; signal?: AbortSignal } = {}) =>
  session.run(
    { origin: 'user', content },
    {
      budget: new Budget(options.limits ?? {}, { setBy: 'the test' }),
      signal: options.signal ?? new AbortController().signal,
    },
  );

export const resume = (session: Session, limits: Limits = {}) =>
  session.run(undefined, { budget: new Budget(limits), signal: new AbortController().signal });

export const call = (name: string, input: unknown, id?: string) => ({
  name,
  arguments: JSON.stringify(input),
  ...(id ? { id } : {}),
});

/** What a wire would send, in the order of a prompt's bytes. */
export const bytesOf = ({ tools, system, messages }: ModelRequest): string =>
  JSON.stringify([tools, system, ...messages]).slice(0, -1);
