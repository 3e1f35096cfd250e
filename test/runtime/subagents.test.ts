import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { addUsage, noUsage } from '../../src/core/usage.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { bytesOf } from '../session/engine-host.ts';
import { call, referencesIn, workshop } from './workshop.ts';

const results = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message] : []));
const lastText = ({ messages }: ModelRequest) => messages.at(-1) as { role: string; content: string };

describe('run_skill', () => {
  it('gives an inline skill back as a pin with its arguments', async () => {
    const shop = workshop();
    const file = shop.skill('note', {}, 'Write this down:\n<<arguments>>\n');
    const { runtime } = await shop.open((request) =>
      results(request).length === 0 ? { calls: [call('run_skill', { name: 'note', arguments: 'buy $& milk' })] } : 'ok',
    );
    const session = await runtime.session();
    await session.send('go').result;
    const events = await runtime.store.read(session.id);
    const result = events.find((event) => event.type === 'tool.result');
    expect(result).toMatchObject({
      isError: false,
      content: `<skill-pin name="note">\n# Skill: note\n> About note.\n(scope: project · ${file})\nBase folder: ${join(file, '..')}\n\nWrite this down:\nbuy $& milk\n\n</skill-pin>`,
    });
    expect(events.map((event) => event.type)).toContain('skill.loaded');
  });

  it('runs two children at the same time; only their answers come back', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig. Look for {{arguments}}.');
    let running = 0;
    let most = 0;
    let bothRun = () => {};
    const both = new Promise<void>((resolve) => {
      bothRun = resolve;
    });
    const { runtime, model } = await shop.open(async (request) => {
      if (request.skill === 'dig') {
        most = Math.max(most, ++running);
        if (most === 2) bothRun();
        // Neither answers before the other has asked.
        await both;
        running--;
        return `found ${lastText(request).content}`;
      }
      if (results(request).length === 0) {
        return {
          text: 'secret of the parent',
          calls: ['gold', 'tin'].map((task) => call('run_skill', { name: 'dig', arguments: task })),
        };
      }
      return 'done';
    });
    const run = await (await runtime.session()).send('find metals').result;
    expect(most).toBe(2);
    const [gold, tin] = results(model.requests.at(-1) as ModelRequest);
    expect(gold?.content).toMatch(
      /^Subagent reference: (sa_\w+)\nStatus: completed\nSkill: dig · steps 1 · tokens \d+\nContinue with run_skill \{"name":"dig","continue_from":"\1","arguments":"…"\}\.\n\nfound gold$/,
    );
    expect(tin?.content).toContain('found tin');
    const child = model.requests.find((request) => request.system.startsWith('You dig. Look for gold.'));
    expect(child?.messages).toMatchObject([{ role: 'user', origin: 'task', content: 'gold' }]);
    expect(JSON.stringify(child)).not.toContain('secret of the parent');
    expect(child?.tools.map((tool) => tool.name)).not.toContain('install_skill');
    expect(
      run.subagents.map(({ depth, skill, status, steps, parent }) => ({ depth, skill, status, steps, parent })),
    ).toEqual(Array(2).fill({ depth: 1, skill: 'dig', status: 'completed', steps: 1, parent: run.session }));
    const sum = run.subagents.reduce((total, one) => addUsage(total, one.usage), run.usage.own);
    expect(run.usage.total).toEqual(sum);
  });

  it('says what to call instead when a call cannot run', async () => {
    const shop = workshop();
    shop.skill('review-code', { runAs: 'subagent' }, 'Review.');
    shop.skill('tips', {}, 'Tips.');
    shop.skill('mine', { 'disable-model-invocation': true }, 'For people.');
    const calls = [
      { name: 'review-cod', arguments: 'x' },
      { name: 'review-code' },
      { name: 'tips', continue_from: 'sa_00000000000000000000000000' },
      { name: 'mine' },
      { name: 'review-code', arguments: 'x', continue_from: 'sa_1111', fork_from: 'sa_1111' },
      { name: 'review-code', arguments: 'x', continue_from: 'sa_00000000000000000000000000' },
      { name: '../../etc/passwd' },
      { name: '[subagent] `TIPS`: all of them' },
    ];
    const { runtime, model } = await shop.open(
      (request) => (results(request).length === 0 ? { calls: calls.map((one) => call('run_skill', one)) } : 'ok'),
      { overrides: ['skills.disabled_skills=review'] },
    );
    await (await runtime.session()).send('go').result;
    const texts = results(model.requests.at(-1) as ModelRequest).map(({ content }) => content);
    expect(texts[0]).toMatch(/no skill "review-cod".*Nearest of \d+: review-code/);
    expect(texts[1]).toContain('needs a task');
    expect(texts[2]).toContain('inline skill');
    expect(texts[3]).toContain('only be started by the user');
    expect(texts[4]).toContain('not both');
    expect(texts[5]).toContain('list_subagents');
    expect(texts[6]).toMatch(/no skill/);
    expect(texts[7]).toContain('<skill-pin name="tips">');
  });
});

it('gives a long inline body whole: a cut in its middle would break it', async () => {
  const shop = workshop();
  const body = 'One line of a long body.\n'.repeat(2_000);
  shop.skill('long', {}, body);
  const { runtime, model } = await shop.open((request) =>
    results(request).length === 0 ? { calls: [call('run_skill', { name: 'long' })] } : 'ok',
  );
  await (await runtime.session()).send('go').result;
  expect(results(model.requests.at(-1) as ModelRequest)[0]?.content).toContain(body);
});

describe('threads', () => {
  it('continues a child in another process with its earlier messages; refuses what is not its own', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    shop.skill('cook', { runAs: 'subagent' }, 'You cook.');
    const script = (request: ModelRequest) => {
      if (request.skill)
        return `heard ${request.messages
          .filter((message) => message.role === 'user')
          .map((message) => lastText({ ...request, messages: [message] }).content)
          .join(' + ')}`;
      const { content } = request.messages.findLast((message) => message.role === 'user') as { content: string };
      if (lastText(request).role === 'tool') return `seen: ${lastText(request).content}`;
      const [name, continue_from] = content.split(' ');
      return { calls: [call('run_skill', { name, arguments: 'more', continue_from })] };
    };
    const first = await shop.open(script);
    const session = await first.runtime.session();
    const one = await session.send('dig').result;
    const ref = one.subagents[0]?.ref ?? '';
    await first.runtime.close();

    const second = await shop.open(script);
    const again = await second.runtime.session({ resume: session.id });
    expect((await again.send(`dig ${ref}`).result).answer).toContain('heard more + more');
    expect((await again.send(`cook ${ref}`).result).answer).toContain('runs the skill "dig"');
    const foreign = await second.runtime.session();
    expect((await foreign.send(`dig ${ref}`).result).answer).toContain('belongs to another session');
    const children = (await second.runtime.store.list({ root: session.id, kind: 'child' })).sessions;
    expect(children.map((child) => child.session)).toEqual([ref]);
  });

  it('forks a child and leaves the source alone; hands whole answers to another through inputs_from', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    shop.skill('join', { runAs: 'subagent' }, 'You join.');
    const long = 'word '.repeat(10_000);
    const { runtime, model } = await shop.open((request) => {
      if (request.skill === 'dig') return `${lastText(request).content}: ${long}end-${lastText(request).content}`;
      if (request.skill === 'join') return (lastText(request).content.match(/end-\w+/g) ?? []).join('+');
      const refs = referencesIn(request.messages);
      if (refs.length === 0)
        return { calls: ['a', 'b'].map((task) => call('run_skill', { name: 'dig', arguments: task })) };
      if (refs.length === 2) return { calls: [call('run_skill', { name: 'dig', arguments: 'c', fork_from: refs[0] })] };
      if (refs.length === 3)
        return { calls: [call('run_skill', { name: 'join', arguments: 'all', inputs_from: refs })] };
      return lastText(request).content;
    });
    const session = await runtime.session();
    const run = await session.send('go').result;
    expect(run.answer).toContain('end-a+end-b+end-c');
    const [source = '', , fork = ''] = referencesIn(model.requests.at(-1)?.messages ?? []);
    expect((await runtime.store.read(source)).filter((event) => event.type === 'user.message')).toHaveLength(1);
    expect((await runtime.store.read(fork))[0]).toMatchObject({ forkedFrom: { session: source } });
    const parent = results(model.requests.at(-1) as ModelRequest);
    expect(parent.every(({ content }) => Buffer.byteLength(content) <= 32 * 1024)).toBe(true);
    expect(parent[0]?.content).toMatch(/clipped: \d+ bytes in all; read on with read_result/);
  });

  it('F06: of two continues of one child at once, one wins and the other hears that it is busy', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { runtime, model } = await shop.open(async (request) => {
      if (request.skill) {
        await delay(20);
        return 'dug';
      }
      const refs = referencesIn(request.messages);
      if (refs.length === 0) return { calls: [call('run_skill', { name: 'dig', arguments: 'a' })] };
      if (refs.length === 1)
        return {
          calls: ['b', 'c'].map((task) => call('run_skill', { name: 'dig', arguments: task, continue_from: refs[0] })),
        };
      return 'done';
    });
    await (await runtime.session()).send('go').result;
    const [, b, c] = results(model.requests.at(-1) as ModelRequest).map(({ content }) => content);
    expect([b, c].filter((text) => text?.endsWith('dug'))).toHaveLength(1);
    expect([b, c].filter((text) => text?.includes('running right now'))).toHaveLength(1);
  });
});

describe('what keeps children in bounds', () => {
  it('F16: a child that always delegates meets the depth limit; the parent still gets an answer', async () => {
    const shop = workshop();
    shop.skill('relay', { runAs: 'subagent' }, 'Pass it on.');
    const { runtime } = await shop.open((request) => {
      const answered = results(request);
      const hasTool = request.tools.some((tool) => tool.name === 'run_skill');
      return answered.length === 0 && hasTool
        ? { calls: [call('run_skill', { name: 'relay', arguments: 'again' })] }
        : 'enough';
    });
    const run = await (await runtime.session()).send('go').result;
    expect(run).toMatchObject({ status: 'completed', answer: 'enough' });
    expect(run.subagents.map(({ depth }) => depth)).toEqual([1, 2, 3]);
  });

  it('holds the ceiling of spawns over a whole root turn', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { runtime } = await shop.open(
      (request) => {
        if (request.skill) return 'dug';
        return results(request).length === 0
          ? { calls: Array.from({ length: 6 }, (_, i) => call('run_skill', { name: 'dig', arguments: `${i}` })) }
          : results(request)
              .map(({ content }) => content)
              .join('\n');
      },
      { overrides: ['agent.max_spawns=4'] },
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run.subagents).toHaveLength(4);
    expect(
      run.answer.match(/ceiling of 4 sub-agents for this task is reached \(set by [^)]*agent\.max_spawns[^)]*\)/g),
    ).toHaveLength(2);
  });

  it('eight children with three slots, two of which start children: never more than three, no deadlock', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    let running = 0;
    let most = 0;
    let allRun = () => {};
    const three = new Promise<void>((resolve) => {
      allRun = resolve;
    });
    const { runtime } = await shop.open(
      async (request) => {
        if (!request.skill) {
          const done = results(request);
          if (done.length > 0) return done.map(({ content }) => content.split('\n').at(-1)).join();
          return {
            calls: Array.from({ length: 8 }, (_, index) =>
              call('run_skill', { name: 'dig', arguments: index < 2 ? `split ${index}` : `plain ${index}` }),
            ),
          };
        }
        most = Math.max(most, ++running);
        if (most >= 3) allRun();
        // The first ones wait for each other, so that three at once is seen whatever the machine does.
        await three;
        await delay(5);
        running--;
        const { content } = request.messages[0] as { content: string };
        const done = results(request);
        if (done.length > 0) return `${content}=${done.map((one) => one.content.split('\n').at(-1)).join('&')}`;
        if (content.startsWith('split'))
          return {
            calls: ['x', 'y', 'z'].map((part) =>
              call('run_skill', { name: 'dig', arguments: `${part} of ${content.at(-1)}` }),
            ),
          };
        return content;
      },
      { overrides: ['agent.max_concurrent=3'] },
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run.answer).toBe(
      'split 0=x of 0&y of 0&z of 0,split 1=x of 1&y of 1&z of 1,plain 2,plain 3,plain 4,plain 5,plain 6,plain 7',
    );
    expect(most).toBe(3);
    expect(run.subagents).toHaveLength(14);
  });

  it('F29: a child has what its skill names, of what the configuration leaves; a deny binds at every depth', async () => {
    const shop = workshop();
    shop.write('a.txt', 'text');
    shop.skill('narrow', { runAs: 'subagent', 'allowed-tools': 'Read, Bash(git *)' }, 'Narrow.');
    const { runtime, model } = await shop.open(
      (request) => {
        if (request.skill) {
          if (results(request).length > 0)
            return results(request)
              .map(({ content }) => content)
              .join('\n');
          return {
            calls: [
              call('shell', { command: 'git --version' }),
              call('shell', { command: 'chmod 777 a.txt' }),
              call('shell', { command: 'git push; rm -rf x' }),
              call('write_file', { path: 'b', text: 'b' }),
            ],
          };
        }
        return results(request).length === 0
          ? { calls: [call('run_skill', { name: 'narrow', arguments: 'x' })] }
          : (results(request)[0]?.content ?? '');
      },
      { yes: true, overrides: ['permissions.deny=shell(git push *)'] },
    );
    const run = await (await runtime.session()).send('go').result;
    const child = model.requests.find((request) => request.skill === 'narrow');
    expect(child?.tools.map((tool) => tool.name).sort()).toEqual(['read_file', 'read_result', 'shell']);
    expect(run.answer).toMatch(/git version/);
    expect(run.answer).toMatch(/Not allowed: shell\(chmod 777 a\.txt\): the skill allows only/);
    expect(run.answer).toMatch(/Not allowed: shell\(git push; rm -rf x\)/);
    expect(run.answer).toContain('There is no tool "write_file"');
  });

  it('a read-only skill cannot write, nor can what it starts', async () => {
    const shop = workshop();
    shop.skill('look', { runAs: 'subagent', 'read-only': true }, 'Look.');
    shop.skill('hand', { runAs: 'subagent' }, 'Hand.');
    const { runtime, model } = await shop.open(
      (request) => {
        if (results(request).length > 0)
          return results(request)
            .map(({ content }) => content)
            .join('\n');
        if (request.skill === 'hand') return { calls: [call('write_file', { path: 'b', text: 'b' })] };
        return { calls: [call('run_skill', { name: request.skill ? 'hand' : 'look', arguments: 'x' })] };
      },
      { yes: true },
    );
    await (await runtime.session()).send('go').result;
    for (const request of model.requests.filter((one) => one.skill)) {
      expect(request.tools.map((tool) => tool.name)).not.toContain('write_file');
    }
    expect(existsSync(join(shop.cwd, 'b'))).toBe(false);
  });

  it('F10: cancelling the parent ends children and grandchildren, and nothing runs after it', async () => {
    const shop = workshop();
    shop.skill('deep', { runAs: 'subagent' }, 'Deep.');
    const started: string[] = [];
    const slow = defineTool({
      name: 'slow',
      description: 'slow',
      input: z.object({}),
      effects: 'read',
      execute: async (_, { signal, session }) => {
        started.push(session);
        await delay(60_000, undefined, { signal });
        return 'x';
      },
    });
    const { runtime, model } = await shop.open(
      (request) => {
        const depth = request.messages[0] && 'content' in request.messages[0] ? request.messages[0].content : '';
        return depth === 'two'
          ? { calls: [call('slow', {})] }
          : { calls: [call('run_skill', { name: 'deep', arguments: depth === 'one' ? 'two' : 'one' })] };
      },
      { tools: [slow] },
    );
    const session = await runtime.session();
    const controller = new AbortController();
    const running = session.send('go', { signal: controller.signal }).result;
    while (started.length === 0) await delay(5);
    controller.abort();
    const run = await running;
    expect(run.status).toBe('cancelled');
    expect(run.subagents.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
    const asked = model.requests.length;
    await delay(30);
    expect(model.requests.length).toBe(asked);
    for (const id of [session.id, ...run.subagents.map(({ ref }) => ref)]) {
      expect((await runtime.store.read(id)).at(-1)).toMatchObject({ type: 'turn.ended', status: 'cancelled' });
    }
  });

  it('F33: own and inclusive tokens are separate, and each token counts once', async () => {
    const shop = workshop();
    shop.skill('child', { runAs: 'subagent' }, 'Child.');
    shop.skill('grand', { runAs: 'subagent' }, 'Grand.');
    const { runtime } = await shop.open((request) => {
      const done = results(request).length > 0;
      if (request.skill === 'grand') return { text: 'g', usage: { input: 500, output: 20, cache_read: 300 } };
      if (request.skill === 'child')
        return done
          ? { text: 'c', usage: { input: 600, output: 30 } }
          : { calls: [call('run_skill', { name: 'grand', arguments: 'x' })], usage: { input: 400, output: 20 } };
      return done
        ? { text: 'p', usage: { input: 60, output: 5 } }
        : { calls: [call('run_skill', { name: 'child', arguments: 'x' })], usage: { input: 40, output: 5 } };
    });
    const session = await runtime.session();
    const run = await session.send('go').result;
    expect(run.usage.own).toEqual({ ...noUsage(), input: 100, output: 10 });
    expect(run.usage.total).toEqual({ ...noUsage(), input: 1600, output: 80, cache_read: 300 });
    expect(run.subagents.map(({ usage }) => usage.input)).toEqual([1000, 500]);
    const logged = (await runtime.store.read(session.id)).filter((event) => event.type === 'usage');
    expect(logged).toMatchObject([{ usage: { input: 1500, output: 70, cache_read: 300 }, steps: 3, spawns: 2 }]);
  });
});

describe('the prompt', () => {
  it('stays byte for byte over 20 steps, with a skill added half way; the next turn says so once', async () => {
    const shop = workshop();
    shop.skill('first', {}, 'First.');
    const { runtime, model } = await shop.open((request) => {
      if (request.messages.length === 21) shop.skill('second', {}, 'Second.');
      return request.messages.length < 40 ? { calls: [call('read_skill', { name: 'first' })] } : 'end';
    });
    const session = await runtime.session();
    await session.send('go').result;
    await session.send('and now?').result;
    await session.send('and then?').result;
    const bytes = model.requests.map(bytesOf);
    expect(bytes.length).toBeGreaterThan(20);
    for (const [index, text] of bytes.entries())
      if (index > 0) expect(text.startsWith(bytes[index - 1] ?? '?')).toBe(true);
    const notices = (await runtime.store.read(session.id)).filter(
      (event) => event.type === 'user.message' && event.origin === 'notice',
    );
    expect(notices).toMatchObject([{ content: 'Skills added since the list above, ready for run_skill: second' }]);
  });

  it('names in another process what changed since the session last looked', async () => {
    const shop = workshop();
    shop.skill('kept', {}, 'Kept.');
    const gone = shop.skill('gone', {}, 'Gone.');
    const first = await shop.open(() => 'ok');
    const session = await first.runtime.session();
    await session.send('go').result;
    await first.runtime.close();
    shop.skill('fresh', {}, 'Fresh.');
    shop.skill('kept', {}, 'Kept, but edited.');
    const { rmSync } = await import('node:fs');
    rmSync(join(gone, '..'), { recursive: true });
    const second = await shop.open(() => 'ok');
    await (await second.runtime.session({ resume: session.id })).send('again').result;
    const notice = second.model.requests[0]?.messages.find(
      (message) => message.role === 'user' && message.origin === 'notice',
    );
    expect(notice).toMatchObject({
      content:
        'Skills added since the list above, ready for run_skill: fresh\nSkills that no longer exist: gone\nSkills edited since you last looked; run one again to get its new text: kept',
    });
  });
});

it('installs a skill that can be run at once, and never over another', async () => {
  const shop = workshop();
  const installed: string[] = [];
  const { runtime, model } = await shop.open(
    (request) => {
      const done = results(request).length;
      const skill = { name: 'fresh', description: 'Fresh: always', body: 'Be fresh.' };
      if (done === 0) return { calls: [call('install_skill', skill)] };
      if (done === 1) return { calls: [call('run_skill', { name: 'fresh' }), call('install_skill', skill)] };
      return 'ok';
    },
    { yes: true, installed: ({ path }) => installed.push(path) },
  );
  await (await runtime.session()).send('go').result;
  const [first, run, again] = results(model.requests.at(-1) as ModelRequest);
  expect(JSON.parse(first?.content ?? '')).toMatchObject({
    ok: true,
    name: 'fresh',
    scope: 'project',
    path: installed[0],
  });
  expect(readFileSync(installed[0] ?? '', 'utf8')).toBe(
    '---\nname: fresh\ndescription: "Fresh: always"\n---\nBe fresh.\n',
  );
  expect(run?.content).toContain('Be fresh.');
  expect(again).toMatchObject({ isError: true });
  expect(again?.content).toContain('exists already');
});
