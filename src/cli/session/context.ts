import type { LoadedConfig } from '../../config/cascade.ts';
import type { EventOf, StoredEvent } from '../../core/events.ts';
import type { Message } from '../../core/messages.ts';
import { toolsSize } from '../../models/estimate.ts';
import { DEFAULT_CONTEXT_WINDOW, roomOf, windowOf } from '../../models/windows.ts';
import { sizeOf } from '../../session/context-size.ts';
import { startOf } from '../../session/started.ts';
import type { Thread } from '../../session/thread.ts';

/** What a model would be sent now, in tokens. Single figures are estimated; the total is the provider's when it is known. */
export interface Context {
  tokens: number;
  counted_by: 'provider' | 'estimate';
  window: number;
  /** Tokens of the window that are kept free for the answer. */
  answer_tokens: number;
  /** Part of the window without those. */
  share: number;
  /** Part of the window at which the session is compacted; 0 for never. */
  compact_at: number;
  system: { tokens: number };
  tools: { tokens: number; count: number };
  messages: ContextMessage[];
  compactions: CompactionRow[];
}

interface ContextMessage {
  role: Message['role'];
  /** Who put a user message there; the tool of a result. */
  from: string | null;
  tokens: number;
  content: string;
  calls: string[];
}

interface CompactionRow {
  at: string;
  seq: number;
  reason: string | null;
  /** Messages that a summary stands for, and results that a line stands for. */
  replaced: number;
  reduced: number;
  before: number | null;
  after: number | null;
  model: string | null;
}

export function contextOf(thread: Thread, events: readonly StoredEvent[], { config }: LoadedConfig): Context {
  const { system, tools, model } = startOf(thread);
  const { size } = thread;
  const settings = config.providers.find(({ name }) => name === model.provider);
  const window = settings ? windowOf(settings, model.name) : { contextWindow: DEFAULT_CONTEXT_WINDOW };
  return {
    tokens: size.tokens,
    counted_by: size.isCounted ? 'provider' : 'estimate',
    window: window.contextWindow,
    answer_tokens: window.answerTokens ?? 0,
    share: Number((size.tokens / roomOf(window)).toFixed(4)),
    compact_at: config.agent.compact_at,
    system: { tokens: size.tokensOf(system.length) },
    tools: { tokens: size.tokensOf(toolsSize(tools)), count: tools.length },
    messages: thread.history().map((message) => rowOf(message, size.tokensOf(sizeOf(message)))),
    compactions: events.flatMap((event) => (event.type === 'context.compacted' ? [compactionRow(event)] : [])),
  };
}

function rowOf(message: Message, tokens: number): ContextMessage {
  if (message.role === 'assistant') {
    const calls = message.toolCalls.map(({ name }) => name);
    return { role: 'assistant', from: null, tokens, content: message.text, calls };
  }
  const from = message.role === 'user' ? message.origin : message.name;
  return { role: message.role, from, tokens, content: message.content, calls: [] };
}

export function compactionRow(event: StoredEvent & EventOf<'context.compacted'>): CompactionRow {
  const { at, seq, reason, replaced, reduced = [], before, after, model } = event;
  return {
    at,
    seq,
    reason: reason ?? null,
    replaced,
    reduced: reduced.length,
    before: before ?? null,
    after: after ?? null,
    model: model ?? null,
  };
}
