import { setMaxListeners } from 'node:events';
import { LONGEST_DELAY } from './timer.ts';

export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Lets go of the sources and of the timer; the signal stays as it is. */
  unlink(): void;
}

type Told = (reason: unknown) => void;

const listening = new WeakMap<AbortSignal, { told: Set<Told>; pass: () => void }>();

/**
 * Calls `tell` when `source` aborts, in the order in which they came. Returns the way to stop. Many turns
 * may run under one signal, which looks through all of its listeners whenever one comes or goes: all of
 * these here are one to it.
 */
function onceAborted(source: AbortSignal, tell: Told): () => void {
  let here = listening.get(source);
  if (!here) {
    const told = new Set<Told>();
    here = {
      told,
      pass: () => {
        for (const each of told) each(source.reason);
      },
    };
    listening.set(source, here);
  }
  const { told, pass } = here;
  if (told.size === 0) {
    setMaxListeners(0, source);
    source.addEventListener('abort', pass);
  }
  told.add(tell);
  return () => {
    if (told.delete(tell) && told.size === 0) source.removeEventListener('abort', pass);
  };
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
  const stops: (() => void)[] = [];
  const unlink = () => {
    clearTimeout(timer);
    for (const stop of stops) stop();
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
  for (const source of sources) stops.push(onceAborted(source, abort));
  const expire = () => abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  if (timeout !== undefined && timeout <= 0) expire();
  else if (timeout !== undefined && timeout <= LONGEST_DELAY) timer = setTimeout(expire, Math.ceil(timeout));
  return { signal, unlink };
}
