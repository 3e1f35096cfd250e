import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { messageOf } from '../core/errors.ts';
import { pinnedAddress, type Resolver } from './public-address.ts';
import { problem, systemCode, type ToolProblem } from './tool-problem.ts';

const MAX_REDIRECTS = 5;
const HEADERS = {
  'user-agent': 'reasonix (+https://www.npmjs.com/package/reasonix)',
  accept: 'text/markdown, text/html;q=0.9, application/json;q=0.8, text/*;q=0.8, */*;q=0.1',
  'accept-encoding': 'gzip, deflate, br',
};

export interface GetOptions {
  /** `true`, or host names (with or without port) that may be private. */
  allowPrivate: boolean | readonly string[];
  /** Bytes, after decompression. What is more is left out. */
  maxBytes: number;
  signal: AbortSignal;
  resolve?: Resolver | undefined;
  /** Asked before each redirect is followed; throws to refuse it. */
  onRedirect?: ((url: URL) => void) | undefined;
}

export interface GetResult {
  url: URL;
  status: number;
  type: string;
  charset: string | undefined;
  body: Buffer;
  cut: boolean;
}

/** Fetches a page; every hop is checked like the first one. @throws ToolProblem */
export async function httpGet(start: URL, options: GetOptions): Promise<GetResult> {
  let url = start;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const response = await ask(url, options);
    const status = response.statusCode ?? 0;
    const location = response.headers.location;
    if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return receive(url, response, options);
    response.destroy();
    if (!URL.canParse(location, url.href)) throw problem('redirect-to-nothing', { url: url.href });
    url = checkedUrl(new URL(location, url).href);
    options.onRedirect?.(url);
  }
  throw problem('redirects-too-often', { url: start.href, most: MAX_REDIRECTS });
}

/** @throws ToolProblem for anything but a plain http or https address. */
export function checkedUrl(text: string): URL {
  if (!URL.canParse(text)) throw problem('no-address', { text: text.slice(0, 200) });
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw problem('only-http', { protocol: url.protocol });
  }
  if (url.username !== '' || url.password !== '') {
    throw problem('address-with-password');
  }
  url.hash = '';
  return url;
}

async function ask(url: URL, { allowPrivate, resolve, signal }: GetOptions): Promise<IncomingMessage> {
  const pinned = await unlessAborted(pinnedAddress(url, allowPrivate, resolve), signal);
  const lookup: LookupFunction = (_host, { all }, callback) => {
    if (all) callback(null, [pinned]);
    else callback(null, pinned.address, pinned.family);
  };
  return new Promise((done, fail) => {
    // A connection that is not kept: one that is could be reused for a name that was not checked.
    const settings = { headers: HEADERS, lookup, signal, agent: false };
    const call = url.protocol === 'https:' ? httpsRequest(url, settings, done) : httpRequest(url, settings, done);
    call.on('error', (error) => fail(signal.aborted ? signal.reason : networkProblem(url, error)));
    call.end();
  });
}

/** A name server may take its time; nothing waits for it past the signal. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const over = new AbortController();
  try {
    const aborted = new Promise<never>((_, fail) => {
      signal.addEventListener('abort', () => fail(signal.reason), { once: true, signal: over.signal });
    });
    return await Promise.race([work, aborted]);
  } finally {
    over.abort();
  }
}

function networkProblem(url: URL, error: Error): ToolProblem {
  const reasons: Record<string, string> = {
    ECONNREFUSED: 'nothing answers there',
    ECONNRESET: 'the connection was cut',
    ETIMEDOUT: 'no answer came',
    EHOSTUNREACH: 'the host cannot be reached',
    ENETUNREACH: 'the network cannot be reached',
  };
  const why = reasons[systemCode(error) ?? ''] ?? messageOf(error);
  return problem('not-fetched', { url: url.href, why }, { cause: error });
}

async function receive(url: URL, response: IncomingMessage, options: GetOptions): Promise<GetResult> {
  const [type = '', ...more] = (response.headers['content-type'] ?? '').split(';');
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(more.join(';'))?.[1];
  const { body, cut } = await collect(url, response, options);
  return { url, status: response.statusCode ?? 0, type: type.trim().toLowerCase(), charset, body, cut };
}

async function collect(
  url: URL,
  response: IncomingMessage,
  { maxBytes, signal }: GetOptions,
): Promise<{ body: Buffer; cut: boolean }> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const plain = decompressed(response);
  try {
    for await (const piece of plain) {
      const chunk = piece as Buffer;
      pieces.push(chunk.subarray(0, maxBytes - bytes));
      bytes += chunk.length;
      if (bytes > maxBytes) return { body: Buffer.concat(pieces), cut: true };
    }
    return { body: Buffer.concat(pieces), cut: false };
  } catch (error) {
    signal.throwIfAborted();
    throw networkProblem(url, error instanceof Error ? error : new Error(messageOf(error)));
  } finally {
    plain.destroy();
    response.destroy();
  }
}

function decompressed(response: IncomingMessage): Readable {
  const decoder = decoderFor(response.headers['content-encoding']);
  if (!decoder) return response;
  response.on('error', (error) => decoder.destroy(error));
  response.on('aborted', () => decoder.destroy(new Error('the connection was cut')));
  return response.pipe(decoder);
}

function decoderFor(encoding: string | undefined) {
  switch (encoding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
