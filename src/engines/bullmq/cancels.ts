import type { Redis } from 'ioredis';
import type { Cancel } from '../engine.ts';
import { CANCEL_LIFETIME } from '../retry.ts';
import type { Connection } from './connection.ts';

/** Requests to cancel: kept for runs that begin later, and told at once to those that go on. */
export class Cancels {
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #listeners = new Set<CancelListener>();
  #subscriber: Redis | undefined;

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  async request(session: string, cancel: Cancel): Promise<void> {
    const key = this.#key(session);
    const text = JSON.stringify(cancel);
    const transaction = this.#connection.redis.multi().sadd(key, text).pexpire(key, CANCEL_LIFETIME);
    await transaction.publish(this.#channel, JSON.stringify({ session, cancel })).exec();
  }

  async stored(session: string): Promise<Cancel[]> {
    const texts = await this.#connection.redis.smembers(this.#key(session));
    return texts.map((text) => JSON.parse(text) as Cancel);
  }

  /** Tells `listener` of requests from now on. */
  listen(listener: CancelListener): () => void {
    this.#listeners.add(listener);
    this.#subscriber ??= this.#subscribe();
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#subscriber?.disconnect();
  }

  get #channel(): string {
    return `${this.#prefix}:cancels`;
  }

  #key(session: string): string {
    return `${this.#prefix}:cancel:${session}`;
  }

  #subscribe(): Redis {
    const subscriber = this.#connection.duplicate();
    subscriber.on('message', (_channel: string, text: string) => {
      const { session, cancel } = JSON.parse(text) as { session: string; cancel: Cancel };
      for (const listener of this.#listeners) listener.onCancel(session, cancel);
    });
    // What was published while the subscription was down is stored. It is subscribed again by the driver.
    subscriber.on('ready', () => {
      subscriber.subscribe(this.#channel).then(
        () => {
          for (const listener of this.#listeners) listener.onGap();
        },
        (error: unknown) => this.#connection.fault(error),
      );
    });
    return subscriber;
  }
}

export interface CancelListener {
  onCancel(session: string, cancel: Cancel): void;
  /** Requests may have been missed. */
  onGap(): void;
}
