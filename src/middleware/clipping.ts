import { byteLength, clipEnd, clipStart } from '../core/text.ts';
import { leftOut } from '../session/left-out.ts';
import { defineMiddleware, type Middleware } from '../session/middleware.ts';
import type { Tool } from '../tools/define-tool.ts';
import { type FullResultLookup, readResultTool } from '../tools/read-result.ts';

export interface ClippingOptions {
  /** Largest tool result that a request carries, in bytes of UTF-8. Default 32 KiB. */
  limit?: number | undefined;
  lookup: FullResultLookup;
}

/**
 * Keeps the head and the tail of a large result; the whole text stays in the log for `read_result`. A
 * sub-agent whose tools give short results only does without that tool.
 */
export function clipping({ limit = 32 * 1024, lookup }: ClippingOptions): Middleware {
  const ownResults = readResultTool(lookup, 'own');
  const withAnswers = readResultTool(lookup, 'answers');
  const isBrief = ({ maxResult = Number.POSITIVE_INFINITY }: Tool) => maxResult <= limit;
  return defineMiddleware({
    name: 'clipping',
    prepareSession(setup) {
      const tools = setup.tools.filter(({ name }) => setup.isAllowed(name));
      const isChild = setup.isNew && setup.kind === 'child';
      if (isChild && !setup.isNamed('read_result') && tools.every(isBrief)) return;
      setup.addTool(tools.some(({ name }) => name === 'run_skill') ? withAnswers : ownResults);
    },
    async aroundTool(run, next) {
      const outcome = await next(run);
      const bytes = byteLength(outcome.content);
      const most = Math.min(limit, run.tool.maxResult ?? limit);
      if (bytes <= most || outcome.isBounded) return outcome;
      const marker = (offset: number) => leftOut(run.turn.thread, 'clipped', { bytes, call: run.call.id, offset });
      const content = clip(outcome.content, most, marker);
      return { ...outcome, content, full: outcome.full ?? outcome.content };
    },
  });
}

/**
 * Three quarters of the room for the head, a quarter for the tail, cut between graphemes. The marker
 * between them is told at which character the head ends.
 */
export function clip(text: string, limit: number, marker: (offset: number) => string): string {
  // A character is up to three bytes of UTF-8 in a UTF-16 unit, so the cut goes on until it fits.
  let units = limit;
  for (;;) {
    const head = clipStart(text, Math.floor(units * 0.75));
    const tail = clipEnd(text, Math.floor(units * 0.25));
    const clipped = `${head}\n${marker(head.length)}\n${tail}`;
    const excess = byteLength(clipped) - limit;
    if (excess <= 0 || units <= 0) return clipped;
    units -= Math.max(1, Math.ceil(excess / 3));
  }
}
