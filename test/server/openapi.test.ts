import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/server/routes.ts';
import { answers } from '../../src/server/schemas.ts';
import { serving } from './serving.ts';

interface Document {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
  components: { schemas: Record<string, unknown> };
}

describe('/api/v1/openapi.json', () => {
  it('has every route that is served, and every route that it has is served', async () => {
    const { json, api } = await serving(() => 'x');
    const document = await json<Document>('/openapi.json');
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '1.2.3' } });
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    );
    expect(described.sort()).toEqual([
      'get /openapi.json',
      'get /sessions',
      'get /sessions/{id}',
      'get /sessions/{id}/events',
      'get /sessions/{id}/tree',
      'get /skills',
      'post /sessions',
      'post /sessions/{id}/cancel',
      'post /sessions/{id}/messages',
      'post /sessions/{id}/resume',
    ]);
    expect([...ROUTES.map(({ method, path }) => `${method} ${path}`), 'get /openapi.json'].sort()).toEqual(described);
    for (const operation of described) {
      const [method = '', path = ''] = operation.split(' ');
      const response = await api(path.replace('{id}', 's_none'), { method: method.toUpperCase() });
      const { error } = response.ok ? {} : ((await response.json()) as { error?: { code: string } });
      expect([operation, error?.code]).not.toEqual([operation, 'not_found']);
      const { responses } = document.paths[path]![method]!;
      expect(Object.keys(responses), operation).toContain(String(response.status));
      if (response.ok) await response.body?.cancel();
    }
    expect(
      new Set(Object.values(document.paths).flatMap((each) => Object.values(each).map((op) => op.operationId))).size,
    ).toBe(described.length);
  });

  it('every reference leads to a schema', async () => {
    const { json } = await serving(() => 'x');
    const document = await json<Document>('/openapi.json');
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!);
    expect(references.length).toBeGreaterThan(20);
    const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    for (const reference of references) expect(known).toContain(reference);
    expect(JSON.stringify(document.components.schemas)).not.toContain('"$id"');
  });

  it('what is answered is what it says', async () => {
    const { json, start, until, shop, api } = await serving(({ skill, messages }) =>
      skill === 'dig' || messages.at(-1)?.role === 'tool'
        ? 'gold'
        : { calls: [{ name: 'run_skill', arguments: { name: 'dig', arguments: 'here' } }] },
    );
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const session = await start('dig for gold');
    await until(session, 'completed');
    answers.sessionPage.parse(await json('/sessions'));
    answers.wholeSession.parse(await json(`/sessions/${session}`));
    answers.tree.parse(await json(`/sessions/${session}/tree`));
    answers.skills.parse(await json('/skills'));
    answers.problem.parse(await (await api('/sessions/s_none')).json());
    expect(await json(`/sessions/${session}/tree`)).toMatchObject({
      children: [{ skill: 'dig', status: 'completed' }],
    });
  });
});
