import { prompt } from '../core/prompts.ts';
import { defineMiddleware, type Middleware } from '../session/middleware.ts';
import { onlyRefers } from './only-refers.ts';

const ABOUT = 'final-answer';

/**
 * Asks a child once a turn to state its answer when its last message only points to an earlier one:
 * whoever asked sees the last message alone. People see the whole thread of a root.
 */
export function finalAnswer(): Middleware {
  return defineMiddleware({
    name: 'final-answer',
    finishTurn({ info, thread }) {
      // An answer that has to fit a schema is asked for again by what holds it to that.
      if (info.kind !== 'child' || thread.started?.outputSchema || thread.turn?.asked.has(ABOUT))
        return { kind: 'end' };
      if (!onlyRefers(thread.turn?.lastText ?? '')) return { kind: 'end' };
      return { kind: 'continue', origin: 'nudge', message: prompt('restate'), about: ABOUT };
    },
  });
}
