import type { MessageCreateParamsStreaming, MessageParam } from '@anthropic-ai/sdk/resources/messages/messages';

type Thinking = Pick<MessageCreateParamsStreaming, 'thinking' | 'output_config'>;

interface Wanted {
  model: string;
  effort: string | undefined;
  /** Tokens; 0 for no thinking. Over `effort`. */
  budget: number | undefined;
  /** Of the answer with its thinking. */
  maxTokens: number;
  /** What the request sends. */
  messages: readonly MessageParam[];
}

/** Thinking tokens of the models that take a budget and no effort. */
const BUDGETS: Readonly<Record<string, number>> = {
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 24_576,
};

type Effort = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

const EFFORTS: readonly string[] = Object.keys(BUDGETS);

/** Fewest tokens that the API takes as a budget. */
const SMALLEST_BUDGET = 1_024;

/** Models before 4.6, which think within a budget. */
const BUDGETED = /claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-20\d{6}|$|@))/;

/** Models that cannot think, and names that are not Claude's. */
const SILENT = /claude-(?:2|3-5|3-opus|3-sonnet|3-haiku|instant)/;

/**
 * How a request asks for thinking: not at all when nothing is set. A budget leaves room for the answer
 * within `maxTokens`; to models that take an effort it says how much of one is meant, and the other way round.
 */
export function thinkingOf({ model, effort, budget, maxTokens, messages }: Wanted): Thinking {
  if (SILENT.test(model)) return {};
  const isOff = budget === 0 || (budget === undefined && effort === 'none');
  if (!BUDGETED.test(model)) {
    // Some of these always think, and refuse to be told not to: as little as they do is what can be asked for.
    const level = isOff ? 'low' : budget === undefined ? effort : effortOf(budget);
    if (level === undefined || !EFFORTS.includes(level)) return {};
    return { thinking: { type: 'adaptive' }, output_config: { effort: level as Effort } };
  }
  if (isOff) return { thinking: { type: 'disabled' } };
  const tokens = Math.min(budget ?? BUDGETS[effort ?? ''] ?? 0, Math.floor(maxTokens / 2));
  if (tokens < SMALLEST_BUDGET || continuesWithoutThinking(messages)) return {};
  return { thinking: { type: 'enabled', budget_tokens: tokens } };
}

const effortOf = (budget: number): Effort => (budget <= 4_096 ? 'low' : budget <= 12_288 ? 'medium' : 'high');

/**
 * A turn that goes on after tool calls must have begun with thinking, or the API refuses to think in it:
 * another model may have begun this one.
 */
function continuesWithoutThinking(messages: readonly MessageParam[]): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant');
  if (!last || typeof last.content === 'string' || messages.at(-1)?.role !== 'user') return false;
  const hasCalls = last.content.some(({ type }) => type === 'tool_use');
  return hasCalls && !/thinking$/.test(last.content[0]?.type ?? '');
}
