import type { EventOf, StoredEvent } from '../../core/events.ts';
import { isModelCall } from '../../core/model-call.ts';
import { addCost, addUsage, noUsage, type Usage } from '../../core/usage.ts';

/** One model call of a session. */
export interface StepUsage {
  /** From 1. */
  step: number;
  at: string;
  model: string;
  usage: Usage;
  /** Null when the price is not known. */
  cost: number | null;
  /** Share of the prompt that a cache held. */
  hit_share: number;
  /** The model that was asked first, when a fallback answered. */
  fallback_from: string | null;
  /** Why the cache held less than the step before had put there; null when it held. */
  broken_by: BrokenBy | null;
}

export type BrokenBy = 'compaction' | 'model' | 'pause' | 'unknown';

export interface Totals {
  usage: Usage;
  /** Null as soon as a part of it is not known. */
  cost: number | null;
  hit_share: number;
}

export interface UsageReport {
  steps: StepUsage[];
  /** Of the session's own model calls, summaries of compactions included. */
  own: Totals;
  /** Of everything below it. */
  children: Totals;
  total: Totals;
}

/** Providers cache nothing shorter. */
const SHORTEST_CACHED = 1_024;

/** How long a provider keeps a prefix that nobody asks for, in milliseconds. */
const CACHE_TIME = 5 * 60_000;

/** What a session and its children used, step by step, and where a cached prefix was lost. */
export function usageOf(events: readonly StoredEvent[]): UsageReport {
  const steps: StepUsage[] = [];
  let own: Sum = { usage: noUsage(), cost: 0 };
  let children: Sum = { usage: noUsage(), cost: 0 };
  let wasCompacted = false;
  let isFork = false;
  for (const event of events) {
    if (event.type === 'session.started') isFork = event.forkedFrom !== undefined;
    else if (event.type === 'context.compacted') {
      wasCompacted = true;
      if (event.usage) own = add(own, event.usage, event.cost);
    } else if (event.type === 'usage') {
      children = add(children, event.usage, event.cost);
    } else if (event.type === 'assistant.message' && isModelCall(event, isFork)) {
      own = add(own, event.usage, event.cost);
      steps.push(stepOf(event, steps, wasCompacted));
      wasCompacted = false;
    }
  }
  const total = { usage: addUsage(own.usage, children.usage), cost: addCost(own.cost, children.cost) };
  return { steps, own: totalsOf(own), children: totalsOf(children), total: totalsOf(total) };
}

interface Sum {
  usage: Usage;
  cost: number | undefined;
}

const add = (sum: Sum, usage: Usage, cost: number | undefined): Sum => ({
  usage: addUsage(sum.usage, usage),
  cost: addCost(sum.cost, cost),
});

const totalsOf = ({ usage, cost }: Sum): Totals => ({ usage, cost: cost ?? null, hit_share: hitShare(usage) });

const hitShare = ({ input, cache_read }: Usage): number => (input === 0 ? 0 : cache_read / input);

function stepOf(
  event: EventOf<'assistant.message'> & { at: string },
  before: readonly StepUsage[],
  wasCompacted: boolean,
): StepUsage {
  const { at, model, usage, cost, fallbackFrom } = event;
  const last = before.at(-1);
  const isLost = last !== undefined && cachedAfter(last, before) > 2 * usage.cache_read;
  return {
    step: before.length + 1,
    at,
    model,
    usage,
    cost: cost ?? null,
    hit_share: hitShare(usage),
    fallback_from: fallbackFrom ?? null,
    broken_by: isLost ? reasonOf(event, last, wasCompacted) : null,
  };
}

/** Tokens that the cache should hold after a step: what it wrote or read, or all of it where writes are not told. */
function cachedAfter({ usage }: StepUsage, steps: readonly StepUsage[]): number {
  const { input, cache_read, cache_write } = usage;
  const tellsWrites = cache_write > 0 || steps.some((step) => step.usage.cache_write > 0);
  const tellsReads = steps.some((step) => step.usage.cache_read > 0);
  const cached = tellsWrites ? cache_read + cache_write : tellsReads ? Math.max(cache_read, input / 2) : 0;
  return cached < SHORTEST_CACHED ? 0 : cached;
}

function reasonOf(
  event: EventOf<'assistant.message'> & { at: string },
  last: StepUsage,
  wasCompacted: boolean,
): BrokenBy {
  if (wasCompacted) return 'compaction';
  if (event.model !== last.model || (event.fallbackFrom ?? null) !== last.fallback_from) return 'model';
  return Date.parse(event.at) - Date.parse(last.at) > CACHE_TIME ? 'pause' : 'unknown';
}
