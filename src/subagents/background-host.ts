import type { SessionEvent } from '../core/events.ts';
import type { BackgroundHost } from '../session/background.ts';
import { BackgroundElsewhere, type BackgroundElsewhereOptions } from './background-elsewhere.ts';
import { BackgroundHere, type BackgroundHereOptions } from './background-here.ts';
import { closeCalls } from './close-calls.ts';
import type { Elsewhere } from './elsewhere.ts';
import type { LiveSessions } from './live.ts';
import { deliveryOf } from './undelivered.ts';

export interface BackgroundOptions extends BackgroundHereOptions, Omit<BackgroundElsewhereOptions, 'elsewhere'> {
  live: LiveSessions;
  /** Absent where every child runs in the process of its caller. */
  elsewhere?: Elsewhere | undefined;
  atEnd: BackgroundHost['atEnd'];
}

/** The children beside the turns of every session of a runtime. */
export function backgroundHost(options: BackgroundOptions): BackgroundHost {
  const { live, runner, elsewhere, texts } = options;
  return {
    atEnd: options.atEnd,
    of(session, signal) {
      const parent = live.get(session.id);
      if (!parent) return undefined;
      const isOthers = elsewhere !== undefined && session.thread.turn?.terms !== undefined;
      parent.background = isOthers
        ? new BackgroundElsewhere({ ...options, elsewhere }, parent, signal)
        : new BackgroundHere(options, parent, signal);
      return parent.background;
    },
    async close(session, reason) {
      const events: SessionEvent[] = [];
      for (const [reference, { call }] of session.thread.background) {
        const ended = await runner.close(session, reference, call, reason);
        events.push(...deliveryOf(call, ended, texts));
      }
      return events;
    },
    closeCalls: (session, calls, reason) => closeCalls(options, session, calls, reason),
  };
}
