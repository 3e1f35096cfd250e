import type { Observation } from '../session/host.ts';

type Listener = (observation: Observation) => void;

/**
 * Hands what happens in sessions to whoever watches one of them, or all. An observer that throws is
 * told about and nothing else: what it watches has happened and is in the log.
 */
export class Observers {
  readonly #all = new Set<Listener>();
  readonly #bySession = new Map<string, Set<Listener>>();
  readonly #parentOf: (session: string) => string | undefined;
  readonly #onFailure: (error: unknown) => void;

  /** `parentOf` knows the sessions that run right now. */
  constructor(parentOf: (session: string) => string | undefined, onFailure: (error: unknown) => void) {
    this.#parentOf = parentOf;
    this.#onFailure = onFailure;
  }

  emit(observation: Observation): void {
    for (const listener of this.#all) this.#tell(listener, observation);
    // A session that is just starting does not run yet; its first event names its parent.
    const { session } = observation;
    const parent =
      observation.kind === 'event' && observation.event.type === 'session.started'
        ? observation.event.parent?.session
        : this.#parentOf(session);
    for (let id: string | undefined = session; id; id = id === session ? parent : this.#parentOf(id)) {
      for (const listener of this.#bySession.get(id) ?? []) this.#tell(listener, observation);
    }
  }

  #tell(listener: Listener, observation: Observation): void {
    try {
      listener(observation);
    } catch (error) {
      this.#onFailure(error);
    }
  }

  observe(listener: Listener): () => void {
    this.#all.add(listener);
    return () => void this.#all.delete(listener);
  }

  /** Observations of a session and everything below it. */
  subscribe(session: string, listener: Listener): () => void {
    const listeners = this.#bySession.get(session) ?? new Set();
    this.#bySession.set(session, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#bySession.delete(session);
    };
  }
}
