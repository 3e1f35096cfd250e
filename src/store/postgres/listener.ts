import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { driver } from './connection.ts';
import { isOutage, storeFault } from './faults.ts';

/** How long to wait for a notification of our own, in milliseconds. */
const ECHO_TIMEOUT = 3_000;

export interface ListenerOptions {
  url: string;
  channel: string;
  /** Sends an empty notification, over another connection. */
  notify(): Promise<unknown>;
  /** Called with the session of every append, of any process. */
  onAppend(session: string): void;
  /** Called when notifications may have been missed. */
  onGap(): void;
  onProblem(text: string): void;
}

/**
 * One connection that listens for appends, kept up for as long as somebody follows. A pooler in
 * transaction mode swallows notifications: that is noticed and said, and polling is left.
 */
export class Listener {
  readonly #options: ListenerOptions;
  #stop: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #hasComplained = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  listenWhile(wanted: boolean): void {
    if (wanted === (this.#stop !== undefined)) return;
    if (wanted) {
      const stop = new AbortController();
      this.#stop = stop;
      this.#running = this.#running.then(() => this.#keepListening(stop.signal));
    } else {
      this.#stop?.abort();
      this.#stop = undefined;
    }
  }

  async close(): Promise<void> {
    this.listenWhile(false);
    await this.#running;
  }

  async #keepListening(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.#listen(signal);
        failures = 0;
      } catch (error) {
        if (!isOutage(error)) this.#complain(`following is left to polling: ${storeFault(error).message}`);
      }
      if (signal.aborted) return;
      this.#options.onGap();
      await delay(Math.min(5_000, 100 * 2 ** failures), undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Listens until the connection ends or `signal` aborts. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { url, channel, onAppend, onGap } = this.#options;
    const { default: pg } = await driver();
    const client: Client = new pg.Client({ connectionString: url, application_name: 'reasonix follow' });
    const ended = new Promise<void>((resolve, reject) => {
      client.on('end', () => resolve());
      client.on('error', reject);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    ended.catch(() => {});
    let heard = () => {};
    const echo = new Promise<void>((resolve) => {
      heard = resolve;
    });
    client.on('notification', ({ payload = '' }) => {
      if (payload === '') heard();
      else onAppend(payload);
    });
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      onGap();
      void this.#expectEcho(echo, signal);
      await ended;
    } finally {
      await client.end().catch(() => {});
    }
  }

  async #expectEcho(echo: Promise<void>, signal: AbortSignal): Promise<void> {
    await this.#options.notify().catch(() => {});
    const late = delay(ECHO_TIMEOUT, true, { signal, ref: false }).catch(() => false);
    const isLate = await Promise.race([echo.then(() => false), late]);
    if (isLate) {
      this.#complain(
        'notifications do not arrive, as behind a pooler in transaction mode: following is left to polling. Set store.listen_url to an address of the server itself',
      );
    }
  }

  #complain(text: string): void {
    if (this.#hasComplained) return;
    this.#hasComplained = true;
    this.#options.onProblem(text);
  }
}
