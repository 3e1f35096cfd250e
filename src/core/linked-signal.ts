import { setMaxListeners } from 'node:events';

/** The longest delay that a timer holds, in milliseconds: Node fires a longer one at once. */
const LONGEST_DELAY = 2 ** 31 - 1;

export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Lets go of the sources and of the timer; the signal stays as it is. */
  unlink(): void;
}

/**
 * A signal that aborts with the first of `sources`, or `timeout` milliseconds from now. It takes any
 * number of listeners, and its timer keeps the process alive. `AbortSignal.any` does neither, and on
 * Node 20 it loses a time-out that nobody else refers to with the next garbage collection.
 */
export function linkSignals(sources: readonly AbortSignal[], timeout?: number): LinkedSignal {
  const controller = new AbortController();
  const { signal } = controller;
  setMaxListeners(0, signal);
  let timer: NodeJS.Timeout | undefined;
  const listeners = sources.map((source) => ({ source, abort: () => abort(source.reason) }));
  const unlink = () => {
    clearTimeout(timer);
    for (const { source, abort } of listeners) source.removeEventListener('abort', abort);
  };
  const abort = (reason: unknown) => {
    unlink();
    controller.abort(reason);
  };
  const aborted = sources.find((source) => source.aborted);
  if (aborted) {
    abort(aborted.reason);
    return { signal, unlink };
  }
  for (const { source, abort } of listeners) {
    // Many turns may run under one signal of the user's.
    setMaxListeners(0, source);
    source.addEventListener('abort', abort);
  }
  const expire = () => abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  if (timeout !== undefined && timeout <= 0) expire();
  else if (timeout !== undefined && timeout <= LONGEST_DELAY) timer = setTimeout(expire, Math.ceil(timeout));
  return { signal, unlink };
}
