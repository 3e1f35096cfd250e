import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages/messages';

type Thinking = Pick<MessageCreateParamsStreaming, 'thinking' | 'output_config'>;

/** Thinking tokens of the models that take a budget and no effort. */
const BUDGETS: Readonly<Record<string, number>> = {
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 24_576,
};

const EFFORTS: readonly string[] = Object.keys(BUDGETS);

/** Models before 4.6, which think within a budget. */
const BUDGETED = /claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-20\d{6}|$|@))/;

/** Models that cannot think, and names that are not Claude's. */
const SILENT = /claude-(?:2|3-5|3-opus|3-sonnet|3-haiku|instant)/;

/**
 * How a request asks for effort: nothing when none is set. A budget must leave room for the answer
 * within `maxTokens`.
 */
export function thinkingOf(model: string, effort: string | undefined, maxTokens: number): Thinking {
  if (effort === undefined || !EFFORTS.includes(effort) || SILENT.test(model)) return {};
  if (!BUDGETED.test(model)) {
    return {
      thinking: { type: 'adaptive' },
      output_config: { effort: effort as 'low' | 'medium' | 'high' | 'xhigh' | 'max' },
    };
  }
  const budget = Math.min(BUDGETS[effort] ?? 0, Math.floor(maxTokens / 2));
  return budget < 1_024 ? {} : { thinking: { type: 'enabled', budget_tokens: budget } };
}
