import type { Thread } from '../../session/thread.ts';

/** Share of the window at which a session is compacted when nobody says. */
export const DEFAULT_SHARE = 0.8;

/** Sizes that a compaction works towards, in tokens. */
export interface Goals {
  window: number;
  /** What should be left in all: few, large steps break the prefix of a provider's cache rarely. */
  target: number;
  /** What may be left when the newest results alone are more than the target. */
  most: number;
  /** The newest part, which stays as it is. */
  newest: number;
  summary: number;
  /** A message of the user's that is larger is cut. */
  request: number;
}

/**
 * Goals for a window that is filled up to the share `at`: two fifths of the window are freed, or, when
 * what cannot be left out is large itself, most of what can.
 */
export function goalsFor(thread: Thread, window: number, at: number): Goals {
  const trigger = at * window;
  const request = Math.floor(window * 0.2);
  const fixed = fixedTokens(thread, request);
  const target = Math.max(trigger - 0.4 * window, fixed + Math.max(0, trigger - fixed) / 4);
  const summary = Math.round(Math.min(4_000, Math.max(200, window * 0.08)));
  return {
    window,
    target,
    most: Math.max(target, trigger - 0.1 * window),
    newest: Math.max(0, Math.min(window * 0.2, target - fixed - summary)),
    summary,
    request,
  };
}

/** System prompt, tools, skill bodies and the messages that began the first and the newest turn. */
function fixedTokens({ size, loadedSkills, firstRequest, lastRequest }: Thread, request: number): number {
  let tokens = size.tokensOf(size.frozen);
  for (const { pin } of loadedSkills.values()) if (pin !== undefined) tokens += size.tokensOf(pin.length);
  const requests = new Set([firstRequest, lastRequest]);
  for (const each of requests) if (each) tokens += Math.min(request, size.tokensOf(each.content.length));
  return tokens;
}
