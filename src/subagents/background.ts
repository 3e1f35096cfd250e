import type { BackgroundChildren } from '../session/background.ts';
import type { InboxMessage } from '../session/thread.ts';
import type { ChildRequest } from './child-sessions.ts';
import type { Delivered } from './undelivered.ts';

/** The children that run beside one turn of one session, as the tools of that session deal with them. */
export interface Background extends BackgroundChildren {
  /** References of children whose results are not in the log yet, in the order in which they were started. */
  readonly undelivered: string[];
  /** Of those, the ones that have not ended as far as is known. */
  readonly running: string[];
  /**
   * Lets a child in and makes it durable with its task, once for each call; its reference. It runs at the
   * latest once the log of its parent says that it has started. @throws ReasonixError when it cannot start.
   */
  start(request: ChildRequest): Promise<string>;
  /** Waits until the calls that come before `call` in its step have started their children. */
  started(call: string, signal: AbortSignal): Promise<void>;
  /**
   * Waits until `isEnough` of what has ended, or until a message to the session has come.
   * @throws the signal's reason; `Parked` where the turn is to hold nothing while it waits.
   */
  wait(isEnough: () => boolean, options: WaitOptions): Promise<void>;
  /** Of those named, the ones that have ended and that no other call of this step delivers; `call` does now. */
  claim(references: readonly string[], call: string): Delivered[];
  /** Ends a child and waits for its end. False when none of this reference runs. @throws as `wait`. */
  cancel(reference: string, reason: string, options: CallOptions): Promise<boolean>;
  /** Puts a message into the inbox of a child that runs, once for each `from`. */
  send(reference: string, message: InboxMessage, options: CallOptions): Promise<Sent>;
}

/** What has become of a message: `late` is one that its receiver may still get, or not. */
export type Sent = 'sent' | 'ended' | 'late';

export interface CallOptions {
  signal: AbortSignal;
  /** The call has run before. */
  recovering: boolean;
}

export interface WaitOptions extends CallOptions {
  /** At most so many milliseconds. Default: as long as it takes. */
  timeout?: number | undefined;
}
