import { z } from 'zod';
import { ROUTES, type Route } from './routes.ts';
import { answers, named } from './schemas.ts';

const PROBLEMS: Record<number, string> = {
  400: 'The request does not hold',
  401: 'No token, or a wrong one',
  403: 'Another host or origin than this server',
  404: 'No such session',
  409: 'The session is busy, or has no turn that is open',
  413: 'The body is too large',
  415: 'The body is no JSON',
  422: 'An unknown model, or a skill that cannot be run',
  501: 'The store cannot be followed',
  503: 'A service is away, or the server is about to end',
};

/** The OpenAPI 3.1 document of the interface. */
export function openapi(version: string): Record<string, unknown> {
  const { schemas } = z.toJSONSchema(named, { uri: (id) => `#/components/schemas/${id}` });
  const paths: Record<string, Record<string, unknown>> = {
    '/openapi.json': {
      get: { operationId: 'getOpenapi', summary: 'This document', responses: responsesOf(200, { type: 'object' }, []) },
    },
  };
  for (const route of ROUTES) paths[route.path] = { ...paths[route.path], [route.method]: operation(route) };
  return {
    openapi: '3.1.0',
    info: { title: 'Reasonix', version, description: 'Sessions of agents: list, read, follow, run, cancel.' },
    servers: [{ url: '/api/v1' }],
    security: [{ bearer: [] }, { token: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        token: { type: 'apiKey', in: 'query', name: 'token' },
      },
      schemas: Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema)])),
    },
  };
}

function operation(route: Route): Record<string, unknown> {
  const { name, summary, query, body, bodyIsOptional, status, answer, problems } = route;
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => ({
    name: parameter,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const json = body && { 'application/json': { schema: schemaOf(body) } };
  return {
    operationId: name,
    summary,
    parameters: [...inPath, ...(query ? queryOf(query) : []), ...(answer ? [] : [LAST_EVENT])],
    ...(json ? { requestBody: { required: bodyIsOptional !== true, content: json } } : {}),
    responses: responsesOf(status, answer && schemaOf(answer), problems),
  };
}

const LAST_EVENT = { name: 'Last-Event-ID', in: 'header', schema: { type: 'integer' } };

function queryOf(query: z.ZodObject): Record<string, unknown>[] {
  const { properties = {} } = z.toJSONSchema(query, { io: 'input' });
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
}

function responsesOf(
  status: number,
  schema: unknown,
  problems: readonly number[],
): Record<string, Record<string, unknown>> {
  const content = schema ? { 'application/json': { schema } } : { 'text/event-stream': { schema: { type: 'string' } } };
  const refused = { 'application/json': { schema: schemaOf(answers.problem) } };
  return {
    [status]: { description: status === 202 ? 'Accepted' : 'OK', content },
    ...Object.fromEntries(
      [...problems, 401, 403].map((code) => [code, { description: PROBLEMS[code], content: refused }]),
    ),
  };
}

/** What has a name is referred to. */
function schemaOf(schema: z.ZodType): Record<string, unknown> {
  const known = named.get(schema);
  if (known) return { $ref: `#/components/schemas/${known.id}` };
  return plain(z.toJSONSchema(schema, { io: 'input' }));
}

function plain({ $schema: _dialect, $id: _id, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return schema;
}
