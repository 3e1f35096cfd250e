import { ReasonixError } from '../core/errors.ts';
import { prompt } from '../core/prompts.ts';
import { timerDelay } from '../core/timer.ts';
import type { Session } from '../session/session.ts';
import type { RunSkillInput } from '../tools/skill-service.ts';

/** Those who wait for something beside a turn of `session`. */
export class Waiting {
  readonly #session: Session;
  readonly #watchers = new Set<() => void>();
  #halted = false;

  constructor(session: Session) {
    this.#session = session;
  }

  get isHalted(): boolean {
    return this.#halted;
  }

  /** Something may be over. */
  notify(): void {
    for (const check of this.#watchers) check();
  }

  /** Nobody waits any more: whoever does is told that the turn has ended. */
  halt(): void {
    this.#halted = true;
    this.notify();
  }

  /** Waits until the calls that come before `call` in its step have started their children. */
  started(call: string, signal: AbortSignal): Promise<void> {
    return this.until(() => !isStartedBefore(this.#session, call), signal);
  }

  /**
   * Until `isOver`, which is asked with every `notify` and every message to the session, or for `timeout`
   * milliseconds. @throws the signal's reason.
   */
  until(isOver: () => boolean, signal: AbortSignal, timeout?: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (settle: () => void) => {
        clearTimeout(timer);
        this.#watchers.delete(check);
        stopReading();
        signal.removeEventListener('abort', abort);
        settle();
      };
      const abort = () => leave(() => reject(signal.reason));
      const check = () => {
        if (this.#halted) leave(() => reject(new ReasonixError('cancelled', prompt('parent-ended'))));
        else if (isOver()) leave(resolve);
      };
      const timer = timeout === undefined ? undefined : setTimeout(() => leave(resolve), timerDelay(timeout));
      const stopReading = this.#session.onMessage(check);
      this.#watchers.add(check);
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      else check();
    });
  }
}

/** Whether a call before `call` in its step is still to start a child that runs beside the turn. */
function isStartedBefore(session: Session, call: string): boolean {
  for (const { id, name, arguments: text } of session.thread.openCalls.values()) {
    if (id === call) return false;
    const tool = session.tool(name);
    const parsed = tool?.name === 'run_skill' ? tool.parse(text) : undefined;
    if (parsed?.ok && (parsed.input as RunSkillInput).background) return true;
  }
  return false;
}
