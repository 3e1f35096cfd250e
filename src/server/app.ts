import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { z } from 'zod';
import { checkOrigin, type Token } from './guard.ts';
import { openapi } from './openapi.ts';
import { listPage, sessionPage } from './pages.ts';
import { HttpProblem, problemJson, problemOf, problemText } from './problem.ts';
import { QUEUES, type QueueBoard } from './queues.ts';
import { type Parts, ROUTES, type Route } from './routes.ts';
import { ASK, FOLLOW } from './scripts.ts';

const API = '/api/v1';
/** Bytes of a body. */
const LARGEST = 1_048_576;

/** Nothing from elsewhere, and in no frame. The dashboard sets styles by script, and draws with data addresses. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'";
const BOARD_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'";

export interface AppOptions {
  parts: Parts;
  token: Token;
  board: QueueBoard;
  /** Address that the server listens on. */
  host: string;
  version: string;
}

/** Everything that the server answers. */
export function createApp({ parts, token, board, host, version }: AppOptions): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    const { headers } = context.res;
    headers.set('cache-control', 'no-store');
    headers.set('x-content-type-options', 'nosniff');
    headers.set('referrer-policy', 'no-referrer');
    const policy = context.req.path.startsWith(QUEUES) ? BOARD_POLICY : POLICY;
    headers.set('content-security-policy', `${policy}; form-action 'none'; frame-ancestors 'none'`);
  });
  app.use(async (context, next) => {
    const { headers } = context.req.raw;
    checkOrigin(headers, host);
    const inAddress = context.req.query('token');
    if (!token.matches(inAddress) && !token.isIn(headers)) throw unauthorized();
    if (parts.closing.aborted) throw new HttpProblem(503, 'closing', 'the server is about to end');
    if (inAddress !== undefined && context.req.method === 'GET' && !isApi(context)) return withCookie(context, token);
    await next();
  });
  for (const route of ROUTES) {
    const path = `${API}${route.path.replace(/\{(\w+)\}/g, ':$1')}`;
    const limit = bodyLimit({ maxSize: LARGEST, onError: tooLarge });
    app.on(route.method.toUpperCase(), path, limit, (context) => answer(route, context, parts));
  }
  app.get(`${API}/openapi.json`, (context) => context.json(openapi(version)));
  app.get('/', async (context) => context.html(await listPage(parts, context.req.query('cursor'))));
  app.get('/sessions/:id', async (context) => context.html(await sessionPage(parts, context.req.param('id'))));
  for (const [path, script] of Object.entries({ '/follow.js': FOLLOW, '/ask.js': ASK })) {
    app.get(path, (context) => context.body(script, 200, { 'content-type': 'text/javascript; charset=utf-8' }));
  }
  app.all(QUEUES, (context) => board.answer(context.req.raw));
  app.all(`${QUEUES}/*`, (context) => board.answer(context.req.raw));
  app.notFound((context) => {
    const problem = new HttpProblem(404, 'not_found', `there is no ${context.req.method} ${context.req.path}`);
    return isApi(context) ? problemJson(problem) : problemText(problem);
  });
  app.onError((error, context) => {
    const problem = problemOf(error);
    if (problem.status === 500) parts.onProblem(`${context.req.method} ${context.req.path}: ${problem.message}`);
    const response = isApi(context) ? problemJson(problem) : problemText(problem);
    if (problem.status === 401) response.headers.set('www-authenticate', 'Bearer');
    return response;
  });
  return app;
}

const isApi = ({ req }: Context): boolean => req.path.startsWith('/api/');

/** The token leaves the address, so that neither history nor a copied link has it. */
function withCookie(context: Context, token: Token): Response {
  const { pathname, searchParams } = new URL(context.req.url);
  searchParams.delete('token');
  const rest = searchParams.size > 0 ? `?${searchParams}` : '';
  context.header('set-cookie', `${token.cookie}=${token.value}; Path=/; HttpOnly; SameSite=Strict`);
  // Never to another host: an address that begins with // would be one.
  return context.redirect(`/${pathname.replace(/^\/+/, '')}${rest}`, 303);
}

async function answer(route: Route, context: Context, parts: Parts): Promise<Response> {
  const { token: _token, ...query } = context.req.query();
  const result = await route.handle(
    {
      id: context.req.param('id') ?? '',
      query: route.query ? checked(route.query, query, 'the query') : {},
      body: route.body ? checked(route.body, await bodyOf(context, route), 'the body') : {},
      headers: context.req.raw.headers,
    },
    parts,
  );
  return result instanceof Response ? result : Response.json(result, { status: route.status });
}

async function bodyOf({ req }: Context, { bodyIsOptional }: Route): Promise<unknown> {
  const text = await req.text();
  if (text === '' && bodyIsOptional) return {};
  if (!/^application\/json\b/i.test(req.header('content-type') ?? '')) {
    throw new HttpProblem(415, 'usage', 'the body is no JSON', 'send it with content-type: application/json');
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HttpProblem(400, 'usage', `the body is no JSON: ${error instanceof Error ? error.message : ''}`);
  }
}

function checked<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const why = error.issues.map(({ path, message }) =>
    [path.join('.'), message].filter((part) => part !== '').join(': '),
  );
  throw new HttpProblem(400, 'usage', `${what} does not hold: ${why.join('; ')}`, `see ${API}/openapi.json`);
}

/** What is left of the body is not read, so nothing else can come over this connection. */
function tooLarge(): Response {
  const response = problemJson(
    new HttpProblem(
      413,
      'too_large',
      `the body is larger than ${LARGEST} bytes`,
      'put long texts into files of the working folder',
    ),
  );
  response.headers.set('connection', 'close');
  return response;
}

const unauthorized = (): HttpProblem =>
  new HttpProblem(
    401,
    'unauthorized',
    'the token is missing or wrong',
    'open the address that reasonix serve printed, or send Authorization: Bearer TOKEN',
  );
