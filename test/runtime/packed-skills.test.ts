import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/models/contract.ts';
import type { ScriptedFunction } from '../../src/models/scripted.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import { hasBlobs, type SessionStore } from '../../src/store/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { call, type Workshop, workshop } from './workshop.ts';

/** Two machines with one store; the second has an empty home, and none of the first one's skills. */
function machines(store: SessionStore = memoryStore()) {
  const here = workshop();
  const there = workshop();
  const on = (shop: Workshop, script: ScriptedFunction, options: RuntimeOptions = {}) =>
    shop.open(script, { store, ...options });
  return {
    store,
    here,
    there,
    submit: (script: ScriptedFunction = () => 'never asked', options: RuntimeOptions = {}) =>
      on(here, script, { packSkills: true, ...options }),
    work: (script: ScriptedFunction, options: RuntimeOptions = {}) => on(there, script, options),
  };
}

const results = ({ messages }: ModelRequest): string[] =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.content ?? ''] : []));

/** Says one thing after the other, whatever comes back; a child, by its first line. */
const inTurn =
  (...replies: (ReturnType<ScriptedFunction> | ((request: ModelRequest) => ReturnType<ScriptedFunction>))[]) =>
  (request: ModelRequest) => {
    const reply = replies[results(request).length] ?? 'done';
    return typeof reply === 'function' ? reply(request) : reply;
  };

describe('a session that brings its skills', () => {
  it('runs them on a machine that has none, as they were when it started', async () => {
    const { store, here, there, submit, work } = machines();
    here.skill('guide', {}, 'Follow the old guide.\n');
    here.write('.reasonix/skills/guide/references/r.md', 'the old reference');
    here.skill('digger', { runAs: 'subagent', skills: ['guide'] }, 'You dig the old way.\n');
    const { runtime } = await submit(undefined, { overrides: ['skills.lazy=true'] });
    const { id } = await runtime.session();
    const [started] = await store.read(id);
    expect(started).toMatchObject({ type: 'session.started', library: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(JSON.stringify(started)).not.toContain(join(here.cwd, '.reasonix'));

    here.skill('guide', {}, 'Follow the new guide.\n');
    here.write('.reasonix/skills/guide/references/r.md', 'the new reference');
    here.skill('digger', { runAs: 'subagent' }, 'You dig the new way.\n');
    here.skill('late', {}, 'Came later.\n');
    const folderOf = (request: ModelRequest): string =>
      /(\/\S+)\/SKILL\.md\)/.exec(results(request)[0] ?? '')?.[1] ?? '';
    const { runtime: worker, model } = await work((request) => {
      if (request.system?.includes('You dig')) return 'dug';
      return inTurn(
        { calls: [call('run_skill', { name: 'guide' })] },
        (first) => ({ calls: [call('read_file', { path: join(folderOf(first), 'references/r.md') })] }),
        { calls: [call('run_skill', { name: 'digger', arguments: 'dig' })] },
        { calls: [call('search_skills', { pattern: 'guide' })] },
        { calls: [call('read_skill', { name: 'digger' })] },
        { calls: [call('run_skill', { name: 'late' })] },
      )(request);
    });
    const run = await (await worker.session({ resume: id })).send('go').result;
    expect(run).toMatchObject({ status: 'completed', answer: 'done' });
    const last = model.requests.at(-1) as ModelRequest;
    const [guide, read, dug, found, shown, late] = results(last);
    expect(guide).toContain('Follow the old guide.');
    expect(guide).toContain(join(there.home, '.reasonix/cache/packed', (started as { library: string }).library));
    expect(read).toContain('the old reference');
    expect(dug).toMatch(/Status: completed[\s\S]*dug$/);
    expect(JSON.parse(found ?? '').skills).toMatchObject([
      { name: 'guide', source: 'Project Skill', run_as: 'inline' },
    ]);
    expect(shown).toContain('You dig the old way.');
    expect(late).toMatch(/late/);
    expect(late).not.toContain('Came later.');
    const child = model.requests.find(({ system }) => system?.includes('You dig')) as ModelRequest;
    expect(child.system).toContain('You dig the old way.');
    expect(child.system).toContain('Follow the old guide.');
    expect(last.messages.filter((message) => message.role === 'user')).toHaveLength(1);
    const { sessions } = await store.list({ kind: 'child' });
    const [childStarted] = await store.read(sessions[0]?.session ?? '');
    expect(childStarted).toMatchObject({ library: (started as { library: string }).library });
  });

  it('says nothing of skills that change, and installs for later sessions only', async () => {
    const { store, here, submit } = machines();
    here.skill('a', {}, 'first\n');
    const install = { name: 'made', description: 'Made.', body: 'Made here.', scope: 'project', run_as: 'inline' };
    const { runtime, model } = await submit(
      inTurn({ calls: [call('install_skill', install)] }, { calls: [call('run_skill', { name: 'made' })] }),
      { yes: true },
    );
    const session = await runtime.session();
    await session.send('go').result;
    const [installed, ran] = results(model.requests.at(-1) as ModelRequest);
    expect(JSON.parse(installed ?? '')).toMatchObject({ ok: true, note: expect.stringMatching(/from now on/) });
    expect(ran).not.toContain('Made here.');
    here.skill('a', {}, 'second\n');
    await session.send('again').result;
    const events = await store.read(session.id);
    expect(events.filter(({ type }) => type === 'skills.changed')).toEqual([]);
    expect((model.requests.at(-1) as ModelRequest).messages.filter((each) => each.role === 'user')).toHaveLength(2);
    expect((await runtime.library()).find('made').status).toBe('found');
    const next = await runtime.session();
    const libraries = [session.id, next.id].map(
      async (id) => ((await store.read(id))[0] as { library?: string }).library,
    );
    expect(new Set(await Promise.all(libraries)).size).toBe(2);
  });

  it('requires on every machine what was required where it started, and reports what does not exist', async () => {
    const { store, here, there, submit, work } = machines();
    here.skill('style', {}, 'Write in style.\n');
    here.skill('safety', {}, 'Stay safe.\n');
    here.skill('waived', {}, 'Waived.\n');
    here.write('.claude/required_skills.txt', 'style\nwaived\n!waived\nnosuch\n');
    const { runtime } = await submit(undefined, { overrides: ['skills.required.names=safety'] });
    const { id } = await runtime.session();
    expect((await store.read(id))[0]).toMatchObject({ required: ['style', 'safety', 'nosuch'] });
    // what is required on the other machine is nothing to the session
    mkdirSync(join(there.home, '.claude'));
    writeFileSync(join(there.home, '.claude/required_skills.txt'), 'waived\nlocal\n');
    rmSync(join(here.cwd, '.claude'), { recursive: true });
    const { runtime: worker, model } = await work(() => 'done');
    const run = await (await worker.session({ resume: id })).send('go').result;
    expect(run).toMatchObject({
      status: 'completed',
      required: { names: ['style', 'safety'], loaded: ['style', 'safety'], nudges: 3, injected: ['style', 'safety'] },
    });
    const texts = JSON.stringify(model.requests.at(-1)?.messages);
    expect(texts).toContain('nosuch');
    expect(texts).not.toContain('local');
    expect(texts).toContain('Stay safe.');
  });

  it('hands its skills to a fork, and a fork of one without takes those of now', async () => {
    const { store, here, submit, work } = machines();
    here.skill('a', {}, 'first\n');
    const { runtime: plain } = await work(() => 'done', { cwd: here.cwd, home: here.home });
    const old = await plain.session();
    const { runtime } = await submit();
    const packed = await runtime.session();
    here.skill('a', {}, 'second\n');
    const libraryOf = async (id: string) => ((await store.read(id))[0] as { library?: string }).library;
    const copy = await runtime.session({ fork: packed.id });
    expect(await libraryOf(copy.id)).toBe(await libraryOf(packed.id));
    const taken = await libraryOf((await runtime.session({ fork: old.id })).id);
    expect(await libraryOf(old.id)).toBeUndefined();
    expect(taken).toMatch(/^[0-9a-f]{64}$/);
    expect(taken).not.toBe(await libraryOf(packed.id));
  });

  it('cannot start when the store has lost its skills; the error says what to do', async () => {
    const { here, submit, work, store } = machines();
    here.skill('a', {}, 'first\n');
    const { id } = await (await submit()).runtime.session();
    if (!hasBlobs(store)) throw new Error('no blobs');
    await store.dropBlobs(new Set(), -1);
    const { runtime: worker } = await work(() => 'done');
    await expect(worker.session({ resume: id })).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringMatching(/the skills that the session was started with are not in the store/),
      hint: expect.stringMatching(/restore the store/),
    });
  });

  it('needs a store that keeps skills', async () => {
    const memory = memoryStore();
    const bare = new Proxy(memory, { has: (target, key) => key !== 'putBlobs' && key in target });
    const { here, submit } = machines(bare);
    here.skill('a', {}, 'first\n');
    const { runtime } = await submit();
    await expect(runtime.session()).rejects.toMatchObject({ code: 'config' });
  });

  it('says what does not go with a skill', async () => {
    const { here, submit } = machines();
    here.skill('a', {}, 'first\n');
    writeFileSync(join(here.cwd, '.reasonix/skills/a/big.bin'), Buffer.alloc(2 * 1024 * 1024));
    const problems: string[] = [];
    const { runtime } = await submit(undefined, { onProblem: (text) => problems.push(text) });
    await runtime.session();
    await runtime.session();
    expect(problems).toEqual([expect.stringMatching(/"a" goes to other machines without big\.bin/)]);
  });

  it('works through the embedded store, after the skills of the project are gone', async () => {
    const shop = workshop();
    const store = await openSqliteStore({ path: join(shop.home, 'shared.db') });
    try {
      const { here, submit, work } = machines(store);
      here.skill('a', {}, 'first\n');
      const { id } = await (await submit()).runtime.session();
      rmSync(join(here.cwd, '.reasonix'), { recursive: true });
      const { runtime: worker, model } = await work(inTurn({ calls: [call('run_skill', { name: 'a' })] }));
      await (await worker.session({ resume: id })).send('go').result;
      expect(results(model.requests.at(-1) as ModelRequest)[0]).toContain('first');
    } finally {
      await store.close();
    }
  });
});
