import { setTimeout as delay } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { isObject } from '../../core/is-object.ts';
import { ownOriginFetch } from '../../models/own-origin-fetch.ts';
import { boundedEvents, readBytes } from './bounded-body.ts';
import { connectionProblem, HttpProblem, mediaType, redirectProblem, statusProblem } from './http-problem.ts';
import { isErrorObject, jsonIn, LONGEST_MESSAGE, messageOfValue } from './message.ts';

/** Longest that a server is told of our end, in milliseconds. */
const FAREWELL = 1_000;

/** Between two streams that a server may speak on by itself, in milliseconds: it says itself how soon it is asked again. */
const STREAM_PAUSE = 1_000;

/**
 * A server over streamable HTTP. Beside the SDK's own transport it follows redirects by our rule, bounds
 * what it reads, says what was wrong in words, and tells the server when its session is over.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  constructor(url: URL, headers: Record<string, string>) {
    super(url, { requestInit: { headers }, fetch: checkedFetch() });
  }

  override async close(): Promise<void> {
    const late = delay(FAREWELL, undefined, { ref: false });
    await Promise.race([this.terminateSession().catch(() => {}), late]);
    await super.close();
  }
}

/** The `fetch` of one connection. */
function checkedFetch(): (url: string | URL, init?: RequestInit) => Promise<Response> {
  let isFlooded = false;
  let nextStream = 0;
  const onFlood = (): void => {
    isFlooded = true;
  };
  return async (url, init = {}) => {
    const { method = 'GET' } = init;
    if (method === 'GET') {
      // the SDK would resume the flood, too
      if (isFlooded) throw new HttpProblem('it sent a message that was too long');
      const wait = nextStream - performance.now();
      if (wait > 0) await delay(wait, undefined, { ref: false });
      nextStream = performance.now() + STREAM_PAUSE;
    }
    const response = await asked(url, init);
    // only POST is more than the protocol leaves to a server
    if (!response.ok && (method === 'POST' || response.status !== 405)) {
      throw await statusProblem(response, new Headers(init.headers).has('mcp-session-id'));
    }
    if (method === 'DELETE' || !response.body || response.status === 202) return response;
    const request = method === 'POST' ? requestIn(init.body) : undefined;
    if (method === 'POST' && request === undefined) return response;
    const type = mediaType(response);
    if (type === 'text/event-stream') return withBody(response, boundedEvents(response.body, { request, onFlood }));
    if (request !== undefined && type === 'application/json') return jsonAnswer(response, response.body, request);
    await response.body.cancel().catch(() => {});
    const kind = type === 'text/html' ? 'a web page' : `neither JSON nor events, but "${type.slice(0, 100)}"`;
    throw new HttpProblem(`its answer is ${kind}: check its url, which often ends in /mcp`);
  };
}

async function asked(url: string | URL, init: RequestInit): Promise<Response> {
  try {
    return await ownOriginFetch(url, init, (status, to) => {
      throw redirectProblem(status, to);
    });
  } catch (error) {
    if (error instanceof HttpProblem || init.signal?.aborted) throw error;
    throw connectionProblem(error);
  }
}

/** The id of the request that is sent; `undefined` for what wants no answer. */
function requestIn(body: unknown): string | number | undefined {
  const message = typeof body === 'string' ? jsonIn(body) : undefined;
  if (!isObject(message) || message.method === undefined) return undefined;
  return typeof message.id === 'string' || typeof message.id === 'number' ? message.id : undefined;
}

/** An answer in one piece, with each message of it as the SDK can take it. */
async function jsonAnswer(
  { status, headers }: Response,
  body: ReadableStream<Uint8Array>,
  request: string | number,
): Promise<Response> {
  const value = jsonIn((await readBytes(body, LONGEST_MESSAGE)).toString('utf8'));
  const values = Array.isArray(value) ? value : [value];
  const messages = values.flatMap((each) => messageOfValue(each) ?? []);
  const isAnswer = messages.some((each) => 'id' in each && String(each.id) === String(request) && !('method' in each));
  if (!isAnswer) {
    const said = values.find((each) => isObject(each) && isErrorObject(each.error))?.error as
      | { message: string }
      | undefined;
    throw new HttpProblem(
      said ? `it answered with an error: ${said.message}` : 'its answer is JSON, but none of MCP: check its url',
    );
  }
  return withBody({ status, headers }, JSON.stringify(messages));
}

const withBody = (
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  body: ReadableStream<Uint8Array> | string,
) => new Response(body, { status, headers });
