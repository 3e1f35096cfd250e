import { z } from 'zod';
import { isCancellation } from '../core/errors.ts';
import { toolPrompt } from '../core/prompts.ts';
import { oneLine } from '../core/text.ts';
import { timerDelay } from '../core/timer.ts';
import { defineTool, type Tool, type ToolOutcome } from './define-tool.ts';
import { htmlToText } from './html-text.ts';
import type { GetResult } from './http-get.ts';
import { memo } from './memo.ts';
import type { Resolver } from './public-address.ts';
import { problem } from './tool-problem.ts';

export interface WebFetchOptions {
  /** `true`, or host names (with or without port) that may be loopback, private or link-local. Default: none. */
  allowPrivate?: boolean | readonly string[] | undefined;
  /** Largest body in bytes, after decompression; what is more is cut off. Default 5 MiB. */
  maxBytes?: number | undefined;
  /** Milliseconds for the whole fetch, redirects included. Default 30,000. */
  timeout?: number | undefined;
  /** Finds the addresses of a host. Default: the system's. */
  resolve?: Resolver | undefined;
  /** Asked before each redirect is followed; throws to refuse it. */
  onRedirect?: ((url: URL) => void) | undefined;
}

const MAX_TEXT = 400_000;

interface FetchInput {
  url: string;
}

const schemaOf = memo(() => z.object({ url: z.string() }));

/** Fetches a page from the public internet as readable text. Sends no cookies and no credentials. */
export function webFetchTool(options: WebFetchOptions = {}): Tool<FetchInput> {
  const { allowPrivate = false, maxBytes = 5 * 1024 * 1024, timeout = 30_000, resolve, onRedirect } = options;
  const { description } = toolPrompt('web_fetch');
  return defineTool({
    name: 'web_fetch',
    description,
    input: schemaOf(),
    effects: 'read',
    subject: ({ url }) => (URL.canParse(url) ? new URL(url).href : url),
    async execute({ url }, { signal }) {
      // Node's HTTP, TLS and compression are a good part of what importing the library would cost.
      const { checkedUrl, httpGet } = await import('./http-get.ts');
      const start = checkedUrl(url.trim());
      const deadline = AbortSignal.timeout(timerDelay(timeout));
      const either = AbortSignal.any([signal, deadline]);
      try {
        return render(await httpGet(start, { allowPrivate, maxBytes, signal: either, resolve, onRedirect }));
      } catch (error) {
        signal.throwIfAborted();
        if (!deadline.aborted || !(isCancellation(error) || error === deadline.reason)) throw error;
        throw problem('fetch-too-slow', { url: start.href, seconds: timeout / 1_000 });
      }
    },
  });
}

function render(page: GetResult): ToolOutcome {
  const { url, status, type, body, cut } = page;
  const notes = [`${url.href}`, `status ${status}`, type || 'no content type'];
  if (cut) notes.push(`cut after ${body.length} bytes`);
  let text = '';
  if (body.length === 0) notes.push('empty');
  else if (!isText(type, body)) notes.push(`${body.length} bytes that are no text, not shown`);
  else text = readable(page);
  if (text.length > MAX_TEXT) {
    text = text.slice(0, MAX_TEXT).toWellFormed();
    notes.push(`only the first ${MAX_TEXT} characters`);
  }
  const content = `[${notes.join('; ')}]${text === '' ? '' : `\n${text}`}`;
  const bad = status < 200 || status >= 400 || (text === '' && body.length > 0);
  return bad ? { content, isError: true } : { content };
}

function isText(type: string, body: Buffer): boolean {
  if (/^text\/|[/+](?:json|xml|yaml|toml|javascript|ecmascript|markdown|x-sh|x-ndjson|sql|graphql)$/.test(type))
    return true;
  return (type === '' || type === 'application/octet-stream') && !body.subarray(0, 8_192).includes(0);
}

function readable({ url, type, charset, body }: GetResult): string {
  const text = decodeBody(body, charset);
  if (!/html/.test(type) && !(type === '' && /^\s*<(?:!doctype html|html)/i.test(text))) return text;
  const page = htmlToText(text, url.href);
  return page.title === '' ? page.text : `Title: ${oneLine(page.title)}\n\n${page.text}`;
}

/** By the header, else by what the page says about itself, else UTF-8. */
function decodeBody(body: Buffer, charset: string | undefined): string {
  const head = body.subarray(0, 2_048).toString('latin1');
  const named = charset ?? /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(named).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}
