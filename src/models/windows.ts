import type { ModelWindow, ProviderSettings } from './contract.ts';
import { defaultLimits } from './default-limits.ts';
import { hostOf } from './hosts.ts';
import { defaultMaxTokens } from './output-limit.ts';

/** Tokens of a context window that nobody gave. */
export const DEFAULT_CONTEXT_WINDOW = 128_000;

/** An answer never takes more of a window than this: what is left for requests must be worth something. */
const LARGEST_ANSWER = 0.5;

/**
 * The window of a model: the one that its provider is configured with, else what is known of the model at
 * its vendor's own API, else the default. What answers are limited to is kept free in it, since servers
 * refuse a request that leaves less.
 */
export function windowOf(settings: ProviderSettings, model: string): ModelWindow {
  const limits = settings.context_window === undefined ? defaultLimits(hostOf(settings), model) : undefined;
  const contextWindow = settings.context_window ?? limits?.window ?? DEFAULT_CONTEXT_WINDOW;
  const isWindowKnown = settings.context_window !== undefined || limits !== undefined;
  const asked = settings.max_output_tokens ?? (isWindowKnown ? impliedOutput(settings, model) : 0);
  const answer = Math.min(asked, defaultLimits(hostOf(settings), model)?.output ?? asked);
  const kept = Math.max(answer, limits?.input === undefined ? 0 : limits.window - limits.input);
  const answerTokens = Math.floor(Math.min(kept, LARGEST_ANSWER * contextWindow));
  return { contextWindow, isWindowKnown, ...(answerTokens > 0 ? { answerTokens } : {}) };
}

/** Tokens of an answer that a wire asks for although nobody said so. */
const impliedOutput = ({ kind }: ProviderSettings, model: string): number =>
  kind === 'anthropic' ? defaultMaxTokens(model) : 0;

/** Tokens that a request to a model may have. */
export const roomOf = ({ contextWindow, answerTokens = 0 }: ModelWindow): number => contextWindow - answerTokens;
