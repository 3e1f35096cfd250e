import { onTestFinished } from 'vitest';
import { views } from '../../src/cli/serve/views.ts';
import type { ScriptedFunction } from '../../src/models/scripted.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { type Served, type ServeOptions, serve } from '../../src/server/serve.ts';
import { type Workshop, workshop } from '../runtime/workshop.ts';

export interface Serving {
  shop: Workshop;
  runtime: Runtime;
  served: Served;
  problems: string[];
  /** Sends a request with the token; `path` below `/api/v1`. */
  api(path: string, init?: RequestInit): Promise<Response>;
  post(path: string, body?: unknown): Promise<Response>;
  /** The answer's JSON. */
  json<T = Record<string, unknown>>(path: string): Promise<T>;
  /** Starts a session and gives its id. */
  start(task: string): Promise<string>;
  /** Waits until a session has this status. */
  until(session: string, status: string): Promise<void>;
}

export interface ServingOptions extends Partial<ServeOptions> {
  shop?: Workshop;
  opened?: RuntimeOptions;
}

/** A server on a free port, with a scripted model, until the test is over. */
export async function serving(script: ScriptedFunction, options: ServingOptions = {}): Promise<Serving> {
  const { shop = workshop(), opened = {}, ...rest } = options;
  const { runtime } = await shop.open(script, opened);
  const problems: string[] = [];
  const served = await serve({
    runtime,
    views,
    host: '127.0.0.1',
    port: 0,
    version: '1.2.3',
    onProblem: (text) => problems.push(text),
    ...rest,
  });
  onTestFinished(() => served.close(5_000));
  const api = (path: string, init: RequestInit = {}) =>
    fetch(`${served.address}/api/v1${path}`, {
      ...init,
      headers: { authorization: `Bearer ${served.token}`, ...init.headers },
    });
  const post = (path: string, body?: unknown) =>
    api(path, {
      method: 'POST',
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
  const json = async <T>(path: string) => (await (await api(path)).json()) as T;
  return {
    shop,
    runtime,
    served,
    problems,
    api,
    post,
    json,
    start: async (task) => {
      const response = await post('/sessions', { task });
      if (response.status !== 202) throw new Error(await response.text());
      return ((await response.json()) as { session: string }).session;
    },
    until: async (session, status) => {
      while ((await json<{ status: string }>(`/sessions/${session}`)).status !== status) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  };
}

/** One server-sent event. */
export interface Sent {
  id: number;
  data: { session: string; seq: number; type: string };
}

/** Reads a stream of events: each call gives the next one, or a sign of life as `undefined`. */
export function eventsOf(response: Response): { next(): Promise<Sent | undefined>; leave(): Promise<void> } {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    next: async () => {
      while (!text.includes('\n\n')) {
        const { value, done } = await reader.read();
        if (done) throw new Error('the stream has ended');
        text += value;
      }
      const [block = ''] = text.split('\n\n', 1);
      text = text.slice(block.length + 2);
      const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(block) ?? [];
      return id === undefined ? undefined : { id: Number(id), data: JSON.parse(data!) as Sent['data'] };
    },
    leave: () => reader.cancel(),
  };
}

/** The next events up to one of this type. */
export async function upTo(stream: ReturnType<typeof eventsOf>, type: string): Promise<Sent[]> {
  const seen: Sent[] = [];
  while (seen.at(-1)?.data.type !== type) {
    const next = await stream.next();
    if (next) seen.push(next);
  }
  return seen;
}
