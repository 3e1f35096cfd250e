import type { SessionEvent } from '../core/events.ts';
import type { ToolOutcome } from '../tools/define-tool.ts';
import type { Session } from './session.ts';

/** The children that run beside one turn, as the turn sees them. What the log says of them decides. */
export interface BackgroundChildren {
  /** Lets those run that the log has as started and that do not run here yet: new ones, and after a crash all. */
  launch(): void;
  /** Takes note of ends that nobody tells of; absent where they are told. Cheap: it may be called in every step. */
  look?(): Promise<void>;
  /** The events that deliver each child that has ended, in the order of their ends; empty when none has. */
  deliveries(): SessionEvent[];
  /**
   * Resolves when none runs any more, or when a message to the session has arrived.
   * @throws the signal's reason; `Parked` where others run them: their ends bring the turn back.
   */
  settled(signal: AbortSignal): Promise<void>;
  /** Ends all of them and waits for it: after it `deliveries` has every one. @throws `Parked` as `settled`. */
  stop(reason: string): Promise<void>;
  /** Ends what runs in this process and leaves the logs of others alone; nothing is delivered any more. */
  halt(): Promise<void>;
}

/** How sessions come to run children beside their turns. */
export interface BackgroundHost {
  /** What happens to children that still run when the model wants to end the turn. */
  readonly atEnd: 'wait' | 'cancel';
  /** The children of a turn that runs under `signal`; none for a session that does not run here. */
  of(session: Session, signal: AbortSignal): BackgroundChildren | undefined;
  /** Ends the undelivered children of a session that no turn runs for, and gives the events that deliver them. */
  close(session: Session, reason: string): Promise<SessionEvent[]>;
  /**
   * Ends the children that open calls of a session have started before a crash and that nobody goes on with,
   * and gives what came of those of each call; nothing for a call without any. @throws `Parked` as `settled`.
   */
  closeCalls(session: Session, calls: readonly string[], reason: string): Promise<Map<string, ToolOutcome>>;
}
