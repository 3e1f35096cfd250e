import { z } from 'zod';
import type { StoredEvent } from '../../src/core/events.ts';
import type { Message } from '../../src/core/messages.ts';
import type { Price } from '../../src/core/usage.ts';
import { budgets } from '../../src/middleware/budgets.ts';
import { clipping } from '../../src/middleware/clipping.ts';
import { Compactor, type CompactorOptions } from '../../src/middleware/compaction/compactor.ts';
import { compaction } from '../../src/middleware/compaction.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { withRetry } from '../../src/models/retry.ts';
import type { ScriptedFunction } from '../../src/models/scripted.ts';
import { fullResultLookup } from '../../src/runtime/full-result.ts';
import { sizeOf } from '../../src/session/context-size.ts';
import type { Middleware } from '../../src/session/middleware.ts';
import type { SessionStore } from '../../src/store/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import type { Isolation } from '../../src/subagents/isolation.ts';
import { defineTool, type Tool } from '../../src/tools/define-tool.ts';
import { type EngineBench, engine } from '../session/engine-host.ts';

/** What `read_result` finds in a store; nothing here works in a worktree. */
export const wholeTexts = (store: SessionStore) => fullResultLookup(store, {} as Isolation);

export interface CompactionBench extends EngineBench {
  compactor: Compactor;
}

/** An engine whose sessions are compacted, with a model of a given window. */
export function compacting(
  script: ScriptedFunction,
  window: number,
  options: {
    tools?: readonly Tool[];
    compactor?: CompactorOptions;
    chain?: readonly Middleware[];
    price?: Price;
    isWindowKnown?: boolean;
  } = {},
): CompactionBench {
  const store = memoryStore();
  const compactor = new Compactor(options.compactor);
  const chain = [budgets(), compaction(compactor), ...(options.chain ?? []), clipping({ lookup: wholeTexts(store) })];
  const bench = engine(script, options.tools ?? [bulky], { store, chain });
  const { isWindowKnown = true, price } = options;
  const resolveModel = async () => ({
    client: withRetry(bench.model, { attempts: 1 }),
    provider: 'scripted',
    model: 'm',
    contextWindow: window,
    isWindowKnown,
    price,
  });
  return { ...bench, host: { ...bench.host, resolveModel }, compactor };
}

/** Gives back as many characters as it is asked for. */
export const bulky = defineTool({
  name: 'bulky',
  description: 'Gives text.',
  input: z.object({ size: z.number(), tag: z.string().default('') }),
  effects: 'read',
  execute: async ({ size, tag }) => `${tag} ${'lorem ipsum '.repeat(Math.ceil(size / 12)).slice(0, size)}`,
});

/** A request for a summary, and not for a step of the session. */
export const isSummary = ({ system }: ModelRequest): boolean => system.startsWith('You shorten the record');

export const compactionsIn = (events: readonly StoredEvent[]) =>
  events.flatMap((event) => (event.type === 'context.compacted' ? [event] : []));

/** Tokens of a request by the rule of thumb. */
export const tokensOf = ({ tools, system, messages }: ModelRequest): number =>
  (JSON.stringify(tools).length + system.length + messages.reduce((sum, message) => sum + sizeOf(message), 0)) / 4;

/** Throws unless every call has its result right after it, in order, and every result a call. */
export function checkPairs(messages: readonly Message[]): void {
  for (let index = 0; index < messages.length; ) {
    const message = messages[index++];
    if (message?.role === 'tool') throw new Error(`a result without a call: ${message.callId}`);
    if (message?.role !== 'assistant') continue;
    for (const { id } of message.toolCalls) {
      const result = messages[index++];
      if (result?.role !== 'tool' || result.callId !== id) throw new Error(`the call ${id} has no result`);
    }
  }
}
