import { setTimeout as delay } from 'node:timers/promises';
import type { Hono } from 'hono';
import type { Config } from '../config/config.ts';
import { openQueueView, type QueueView } from '../engines/bullmq/queue-view.ts';
import { HttpProblem } from './problem.ts';

/** Where the dashboard is. */
export const QUEUES = '/queues';

/** How long Redis may take to answer, in milliseconds. */
const PATIENCE = 5_000;

/** The dashboard of the queues, for looking: what it could change is refused. Opened when it is asked for. */
export class QueueBoard {
  readonly #config: Config;
  readonly #onProblem: (text: string) => void;
  #view: Promise<QueueView> | undefined;
  #board: Promise<Board> | undefined;

  constructor(config: Config, onProblem: (text: string) => void) {
    this.#config = config;
    this.#onProblem = onProblem;
  }

  /** @throws HttpProblem 404 without an engine, 405 for what is no look, 501 without the packages, 503 without Redis. */
  async answer(request: Request): Promise<Response> {
    const { url, prefix } = this.#config.engine;
    if (url === undefined) {
      throw new HttpProblem(404, 'no_engine', 'there are no queues: turns run in this process', 'set engine.url');
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new HttpProblem(405, 'read_only', 'the queues can be looked at only');
    }
    this.#view ??= openQueueView({ url, prefix, onProblem: this.#onProblem });
    this.#board ??= openBoard();
    try {
      return await within(PATIENCE, this.#show(request, await this.#view, await this.#board));
    } catch (error) {
      // What was missing may be there at the next look.
      if (await isRejected(this.#view)) this.#view = undefined;
      if (await isRejected(this.#board)) this.#board = undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    await (await this.#view?.catch(() => undefined))?.close();
  }

  async #show(request: Request, view: QueueView, board: Board): Promise<Response> {
    // The page and each of its looks: a tag may be new.
    if (!new URL(request.url).pathname.startsWith(`${QUEUES}/static/`)) board.set(await view.queues());
    return withoutElsewhere(await board.app.fetch(request));
  }
}

interface Board {
  app: Hono;
  set(queues: Awaited<ReturnType<QueueView['queues']>>): void;
}

async function openBoard(): Promise<Board> {
  const [{ createBullBoard }, { BullMQAdapter }, { HonoAdapter }, { serveStatic }, { Hono }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/hono'),
    import('@hono/node-server/serve-static'),
    import('hono'),
  ]).catch((error: unknown) => {
    throw new HttpProblem(
      501,
      'not_installed',
      `the dashboard of the queues cannot be loaded: ${error instanceof Error ? error.message : String(error)}`,
      'npm install @bull-board/api @bull-board/hono',
    );
  });
  const serverAdapter = new HonoAdapter(serveStatic).setBasePath(QUEUES);
  const { replaceQueues } = createBullBoard({
    queues: [],
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Reasonix', hideRedisDetails: true } },
  });
  const app = new Hono();
  app.route(QUEUES, serverAdapter.registerPlugin());
  return {
    app,
    set: (queues) => replaceQueues(queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true }))),
  };
}

/** The dashboard's page asks another host for its fonts; without them it has those of the machine. */
async function withoutElsewhere(response: Response): Promise<Response> {
  if (!response.headers.get('content-type')?.startsWith('text/html')) return response;
  const page = (await response.text()).replace(/<link [^>]*href="https?:[^>]*>/g, '');
  return new Response(page, { status: response.status, headers: { 'content-type': 'text/html; charset=utf-8' } });
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const late = delay(milliseconds, undefined, { signal: stop.signal, ref: false }).then(() => {
    throw new HttpProblem(503, 'engine', `Redis does not answer within ${milliseconds / 1000} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    work.catch(() => {});
    stop.abort();
  }
}

const isRejected = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => false,
    () => true,
  );
