import type { z } from 'zod';
import type { Runtime } from '../runtime/runtime.ts';
import { findSession } from './find-session.ts';
import { eventStream } from './follow.ts';
import type { Runs } from './runs.ts';
import { answers, create, following, listing, resume, send } from './schemas.ts';
import type { Views } from './views.ts';

/** What handlers of requests work with. */
export interface Parts {
  runtime: Runtime;
  runs: Runs;
  views: Views;
  /** Milliseconds between signs of life of a stream. */
  heartbeat: number;
  /** Aborted when the server ends. */
  closing: AbortSignal;
  onProblem(text: string): void;
}

interface Call<Query, Body> {
  id: string;
  query: Query;
  body: Body;
  headers: Headers;
}

/** An answer in its simplest form: JSON with the status of its route. */
type Answer = object | Response;

export interface Route<Query = unknown, Body = unknown> {
  method: 'get' | 'post';
  /** As OpenAPI writes it, below `/api/v1`. */
  path: string;
  /** Name of the operation for generated clients. */
  name: string;
  summary: string;
  query?: z.ZodType<Query> & z.ZodObject;
  body?: z.ZodType<Body>;
  /** A request without a body means an empty object. */
  bodyIsOptional?: true;
  status: 200 | 202;
  /** The JSON that comes; absent for a stream of events. */
  answer?: z.ZodType;
  /** How else it answers, beside 401 and 403. */
  problems: readonly number[];
  handle(call: Call<Query, Body>, parts: Parts): Promise<Answer>;
}

const route = <Query, Body>(definition: Route<Query, Body>): Route => definition as unknown as Route;

/** The whole interface: the server and its OpenAPI document are both made of this. */
export const ROUTES: readonly Route[] = [
  route({
    method: 'get',
    path: '/sessions',
    name: 'listSessions',
    summary: 'Sessions, a page at a time',
    query: listing,
    status: 200,
    answer: answers.sessionPage,
    problems: [400],
    handle: async ({ query }, { runtime, views }) => {
      const { limit, cursor, by, order, parent, open, ...filter } = query;
      const { sessions, next } = await runtime.store.list(
        {
          ...filter,
          ...(parent === undefined ? {} : { parent: { session: parent } }),
          ...(open ? { open: true } : {}),
        },
        { limit, cursor, by, order },
      );
      return { sessions: await views.summaries(runtime, sessions), next: next ?? null };
    },
  }),
  route({
    method: 'post',
    path: '/sessions',
    name: 'createSession',
    summary: 'Give a task to a new session; its turn goes on after the answer',
    body: create,
    status: 202,
    answer: answers.accepted,
    problems: [400, 413, 415, 422, 503],
    handle: async ({ body }, { runs }) => ({ session: await runs.create(body) }),
  }),
  route({
    method: 'get',
    path: '/sessions/{id}',
    name: 'getSession',
    summary: 'A session with its messages',
    status: 200,
    answer: answers.wholeSession,
    problems: [404],
    handle: async ({ id }, { runtime, views }) => {
      const summary = await findSession(runtime.store, id);
      return views.session(runtime, { summary, events: await runtime.store.read(id) });
    },
  }),
  route({
    method: 'get',
    path: '/sessions/{id}/tree',
    name: 'getSessionTree',
    summary: 'A session with all of its sub-agents, and what they do now',
    status: 200,
    answer: answers.tree,
    problems: [404],
    handle: async ({ id }, { runtime: { store }, views }) => views.tree(store, await findSession(store, id)),
  }),
  route({
    method: 'get',
    path: '/sessions/{id}/events',
    name: 'followSession',
    summary: 'The events of a session as server-sent events, those to come included; ends with whoever asked',
    query: following,
    status: 200,
    problems: [400, 404, 501],
    handle: async ({ id, query, headers }, { runtime, heartbeat, closing, onProblem }) => {
      await findSession(runtime.store, id);
      const last = headers.get('last-event-id') ?? '';
      return eventStream(runtime.store, {
        session: id,
        from: /^\d{1,15}$/.test(last) ? Number(last) : (query.from ?? 0),
        signal: closing,
        heartbeat,
        onError: (error) => onProblem(`the events of ${id} cannot be followed: ${String(error)}`),
      });
    },
  }),
  route({
    method: 'post',
    path: '/sessions/{id}/messages',
    name: 'sendMessage',
    summary: 'Go on with a session; a turn that was cut is finished first',
    body: send,
    status: 202,
    answer: answers.accepted,
    problems: [400, 404, 409, 413, 415, 422, 503],
    handle: async ({ id, body }, { runs }) => {
      await runs.send(id, body.text, body);
      return { session: id };
    },
  }),
  route({
    method: 'post',
    path: '/sessions/{id}/resume',
    name: 'resumeSession',
    summary: 'Finish a turn that was cut',
    body: resume,
    bodyIsOptional: true,
    status: 202,
    answer: answers.accepted,
    problems: [400, 404, 409, 413, 415, 422, 503],
    handle: async ({ id, body }, { runs }) => {
      await runs.resume(id, body);
      return { session: id };
    },
  }),
  route({
    method: 'post',
    path: '/sessions/{id}/cancel',
    name: 'cancelSession',
    summary: 'End a turn that is open, here or on a worker; its end is logged soon after the answer',
    status: 202,
    answer: answers.accepted,
    problems: [404, 409, 503],
    handle: async ({ id }, { runs }) => {
      await runs.cancel(id);
      return { session: id };
    },
  }),
  route({
    method: 'get',
    path: '/skills',
    name: 'listSkills',
    summary: 'Skills that can be run',
    status: 200,
    answer: answers.skills,
    problems: [],
    handle: async (_call, { runtime, views }) => {
      const { skills } = await runtime.library();
      return { skills: skills.map(views.skill), total: skills.length };
    },
  }),
];
