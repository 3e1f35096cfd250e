import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Approval, ApprovalRequest } from '../../src/middleware/approvals.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { defineTool, type Tool } from '../../src/tools/define-tool.ts';
import { call, referencesIn, workshop } from '../runtime/workshop.ts';

const results = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message] : []));

/** Tools that only say that they ran; `shell` stands in for the real one. */
function probes(ran: (session: string, probe: string) => void): Tool[] {
  const probe = (name: string, effects: 'read' | 'write') =>
    defineTool({
      name,
      description: 'probe',
      input: z.object({ subject: z.string() }),
      effects,
      subject: ({ subject }) => subject,
      execute: async ({ subject }, { session }) => {
        ran(session, `${name}(${subject})`);
        return 'ran';
      },
    }) as Tool;
  return [probe('shell', 'write'), probe('mcp__docs__find', 'read'), probe('mcp__docs__put', 'write')];
}

const PROBES: readonly (readonly [string, string])[] = [
  ...['git status', 'git push', 'git status && rm x', 'rm x', 'chmod 777 x', 'echo $(rm x)'].map(
    (subject) => ['shell', subject] as const,
  ),
  ['mcp__docs__find', 'a'],
  ['mcp__docs__put', 'a'],
];
const RULES = [
  'shell',
  'shell(git *)',
  'shell(git status)',
  'shell(rm *)',
  'shell(chmod 777*)',
  'mcp__docs',
  'mcp__docs__find',
  'mcp__docs__put',
  'mcp__*',
  'read_file',
  'run_skill',
];

const header = fc.record(
  {
    'allowed-tools': fc.subarray(RULES, { minLength: 1 }).map((rules) => [...rules, 'run_skill']),
    'disallowed-tools': fc.subarray(RULES.slice(0, -1), { maxLength: 2 }),
    'read-only': fc.boolean(),
  },
  { requiredKeys: [] },
);

/** Every session tries all probes, then hands on to the skill of the next level. */
function tryAll(levels: number) {
  return (request: ModelRequest) => {
    const at = request.skill === undefined ? 0 : Number(request.skill.slice(1));
    const done = results(request).length;
    const turns = request.messages.filter((message) => message.role === 'user').length;
    const target = PROBES.length * turns + (turns - 1);
    if (done < target) return { calls: PROBES.map(([name, subject]) => call(name, { subject })) };
    const last = request.messages.at(-1);
    const isProbed = last?.role === 'tool' && last.name !== 'run_skill';
    if (isProbed && at < levels) return { calls: [call('run_skill', { name: `k${at + 1}`, arguments: 'go' })] };
    return 'done';
  };
}

describe('permissions of children', () => {
  it('are those of the parent or fewer, at every depth, of continued children and after new refusals, whatever skills say', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(header, { minLength: 2, maxLength: 3 }),
        fc.subarray(['shell(chmod 777*)', 'shell(rm *)', 'mcp__docs__put', 'shell']),
        fc.subarray(['shell(git push)', 'mcp__docs', 'shell']),
        async (headers, deny, denyLater) => {
          const shop = workshop();
          headers.forEach(
            (each, index) => void shop.skill(`k${index + 1}`, { runAs: 'subagent', ...each }, `Level ${index + 1}.`),
          );
          let ran = new Map<string, Set<string>>();
          const tools = probes((session, probe) => ran.set(session, (ran.get(session) ?? new Set()).add(probe)));
          const store = memoryStore();
          const options = { tools, store, yes: true };
          const first = await shop.open(tryAll(headers.length), {
            ...options,
            overrides: deny.length > 0 ? [`permissions.deny=${deny.join(',')}`] : [],
          });
          const session = await first.runtime.session();
          const run = await session.send('go').result;
          const order = [session.id, ...run.subagents.map(({ ref }) => ref)];
          const before = ran;
          for (const [index, id] of order.entries()) {
            const own = before.get(id) ?? new Set();
            const above =
              index === 0
                ? new Set(PROBES.map(([name, subject]) => `${name}(${subject})`))
                : (before.get(order[index - 1] ?? '') ?? new Set());
            expect([...own].filter((probe) => !above.has(probe))).toEqual([]);
            if (deny.includes('shell(chmod 777*)')) expect([...own]).not.toContain('shell(chmod 777 x)');
            if (deny.includes('shell')) expect([...own].filter((probe) => probe.startsWith('shell'))).toEqual([]);
          }
          // The same children go on under an operator who refuses more.
          ran = new Map();
          const all = [...deny, ...denyLater];
          const second = await shop.open(tryAll(0), {
            ...options,
            overrides: all.length > 0 ? [`permissions.deny=${all.join(',')}`] : [],
          });
          for (const id of order.slice(1)) await (await second.runtime.session({ resume: id })).send('again').result;
          for (const id of order.slice(1)) {
            const own = [...(ran.get(id) ?? [])];
            expect(own.filter((probe) => !before.get(id)?.has(probe))).toEqual([]);
            if (denyLater.includes('shell')) expect(own.filter((probe) => probe.startsWith('shell'))).toEqual([]);
            if (denyLater.includes('mcp__docs')) expect(own.filter((probe) => probe.startsWith('mcp'))).toEqual([]);
          }
        },
      ),
      { numRuns: 25 },
    );
  }, 120_000);

  it('of one that goes on are cut to what its new caller may do, and so are those of its children', async () => {
    const shop = workshop();
    const ran: string[] = [];
    shop.skill('worker', { runAs: 'subagent' }, 'Work.');
    shop.skill('helper', { runAs: 'subagent' }, 'Help.');
    shop.skill('narrow', { runAs: 'subagent', 'allowed-tools': ['run_skill', 'shell(git *)'] }, 'Narrow.');
    const shell = (subject: string) => call('shell', { subject });
    const store = memoryStore();
    const { runtime } = await shop.open(
      (request) => {
        const last = request.messages.at(-1);
        const text = last?.role === 'user' ? last.content : '';
        if (request.skill === 'helper')
          return last?.role === 'user' ? { calls: [shell('rm helper'), shell('git helper')] } : 'helped';
        if (request.skill === 'worker') {
          if (text === 'first') return { calls: [shell('rm first')] };
          if (text === 'second')
            return {
              calls: [shell('rm second'), shell('git second'), call('run_skill', { name: 'helper', arguments: 'go' })],
            };
          if (text === 'third') return { calls: [shell('rm third')] };
          return 'worked';
        }
        if (request.skill === 'narrow') {
          return last?.role === 'user'
            ? { calls: [call('run_skill', { name: 'worker', arguments: 'second', continue_from: text })] }
            : 'narrowed';
        }
        const [worker = ''] = referencesIn(request.messages);
        const step = results(request).length;
        if (step === 0) return { calls: [call('run_skill', { name: 'worker', arguments: 'first' })] };
        if (step === 1) return { calls: [call('run_skill', { name: 'narrow', arguments: worker })] };
        if (step === 2)
          return { calls: [call('run_skill', { name: 'worker', arguments: 'third', continue_from: worker })] };
        return 'done';
      },
      { tools: probes((_, probe) => ran.push(probe)), store, yes: true },
    );
    await (await runtime.session()).send('go').result;
    expect(ran).toEqual(['shell(rm first)', 'shell(git second)', 'shell(git helper)', 'shell(rm third)']);
  });

  it('of a fork are those of whoever forks it', async () => {
    const shop = workshop();
    const ran: string[] = [];
    shop.skill('worker', { runAs: 'subagent' }, 'Work.');
    shop.skill('narrow', { runAs: 'subagent', 'allowed-tools': ['run_skill', 'mcp__docs__find'] }, 'Narrow.');
    const { runtime } = await shop.open(
      (request) => {
        const last = request.messages.at(-1);
        if (request.skill === 'worker')
          return last?.role === 'user' ? { calls: [call('shell', { subject: last.content })] } : 'worked';
        if (request.skill === 'narrow')
          return last?.role === 'user'
            ? { calls: [call('run_skill', { name: 'worker', arguments: 'forked', fork_from: last.content })] }
            : 'narrowed';
        const step = results(request).length;
        if (step === 0) return { calls: [call('run_skill', { name: 'worker', arguments: 'first' })] };
        return step === 1
          ? { calls: [call('run_skill', { name: 'narrow', arguments: referencesIn(request.messages)[0] })] }
          : 'done';
      },
      { tools: probes((_, probe) => ran.push(probe)), yes: true },
    );
    await (await runtime.session()).send('go').result;
    expect(ran).toEqual(['shell(first)']);
  });

  it('hold against a parent that is denied what a skill allows, patterns of the operator, and tools that are not there (F29)', async () => {
    const shop = workshop();
    const ran: string[] = [];
    shop.skill('reader', { runAs: 'subagent', 'read-only': true }, 'Read.');
    shop.skill('bold', { runAs: 'subagent', 'allowed-tools': ['shell', 'run_skill'] }, 'Bold.');
    const { runtime, model } = await shop.open(
      (request) => {
        const last = request.messages.at(-1);
        const done = results(request).length;
        if (request.skill === 'bold') {
          return done === 0
            ? { calls: ['chmod 777 x', 'sudo chmod 777 x', 'ls'].map((subject) => call('shell', { subject })) }
            : 'bold';
        }
        if (request.skill === 'reader') {
          if (done > 0) return 'read';
          return {
            calls: [
              call('run_skill', { name: 'bold', arguments: 'go' }),
              call('write_file', { path: 'x', content: 'x' }),
              call('no_such_tool', {}),
            ],
          };
        }
        if (last?.role === 'user')
          return {
            calls: [
              call('run_skill', { name: 'bold', arguments: 'go' }),
              call('run_skill', { name: 'reader', arguments: 'go' }),
            ],
          };
        return 'done';
      },
      {
        tools: probes((session, probe) => ran.push(`${session.slice(0, 2)} ${probe}`)),
        yes: true,
        overrides: ['permissions.deny=shell(chmod 777*)'],
      },
    );
    await (await runtime.session()).send('go').result;
    // Only the child of the root ran something, and not what the operator refuses.
    expect(ran).toEqual(['sa shell(ls)']);
    const reader = model.requests.filter(({ skill }) => skill === 'reader').at(-1) as ModelRequest;
    expect(reader.tools.map(({ name }) => name)).not.toContain('write_file');
    const [, written, unknown] = results(reader);
    expect(written).toMatchObject({ isError: true, content: expect.stringContaining('There is no tool') });
    expect(unknown?.isError).toBe(true);
  });

  it('are not changed by an inline skill: it widens and narrows nothing', async () => {
    const shop = workshop();
    const ran: string[] = [];
    shop.skill('style', { 'allowed-tools': ['mcp__docs__find', 'shell'] }, 'Style.');
    const { runtime } = await shop.open(
      (request) => {
        const step = results(request).length;
        if (step === 0) return { calls: [call('run_skill', { name: 'style' })] };
        return step === 1
          ? { calls: [call('shell', { subject: 'ls' }), call('mcp__docs__put', { subject: 'a' })] }
          : 'done';
      },
      { tools: probes((_, probe) => ran.push(probe)), allow: ['mcp__docs__put'] },
    );
    await (await runtime.session()).send('go').result;
    expect(ran).toEqual(['mcp__docs__put(a)']);
  });
});

describe('questions of children', () => {
  /** Two levels: `outer` hands on to as many `inner` as there are commands, all at once. */
  async function ask(
    commands: readonly string[],
    approve: ((request: ApprovalRequest) => Promise<Approval>) | undefined,
    signal?: AbortSignal,
  ) {
    const shop = workshop();
    const ran: string[] = [];
    shop.skill('outer', { runAs: 'subagent' }, 'Outer.');
    shop.skill('inner', { runAs: 'subagent' }, 'Inner.');
    const { runtime, model } = await shop.open(
      (request) => {
        const last = request.messages.at(-1);
        if (last?.role !== 'user') return 'done';
        if (request.skill === 'inner') return { calls: [call('shell', { subject: last.content })] };
        if (request.skill === 'outer')
          return { calls: commands.map((each) => call('run_skill', { name: 'inner', arguments: each })) };
        return { calls: [call('run_skill', { name: 'outer', arguments: 'go' })] };
      },
      { tools: probes((_, probe) => ran.push(probe)), approve },
    );
    const run = await (await runtime.session()).send('go', { signal }).result;
    return { ran, run, model };
  }

  it('come one after the other, with the path to who asks; always counts for the same question of a sibling', async () => {
    const seen: string[] = [];
    let open = 0;
    const { ran } = await ask(
      ['make a', 'make b', 'make a', 'make c'],
      async ({ session, skill, path, tool, subject, cwd }) => {
        open++;
        expect(open).toBe(1);
        expect([skill, session.slice(0, 3), cwd.endsWith('project')]).toEqual(['inner', 'sa_', true]);
        seen.push(`${path.join(' › ')}: ${tool}(${subject})`);
        await delay(10);
        open--;
        return subject === 'make a' ? 'always' : subject === 'make b' ? 'once' : 'no';
      },
    );
    expect(seen.sort()).toEqual([
      'outer › inner: shell(make a)',
      'outer › inner: shell(make b)',
      'outer › inner: shell(make c)',
    ]);
    expect(ran.sort()).toEqual(['shell(make a)', 'shell(make a)', 'shell(make b)']);
  });

  it('are withdrawn when the turn is stopped, those that wait are never asked', async () => {
    const stop = new AbortController();
    let asked = 0;
    const { ran, run } = await ask(
      ['make a', 'make b'],
      () => {
        asked++;
        stop.abort();
        return new Promise<never>(() => {});
      },
      stop.signal,
    );
    expect(run.status).toBe('cancelled');
    expect([asked, ran]).toEqual([1, []]);
  });

  it('are refused at once where nobody can be asked, in words to go on with', async () => {
    const { ran, model } = await ask(['make a'], undefined);
    expect(ran).toEqual([]);
    const inner = model.requests.filter(({ skill }) => skill === 'inner').at(-1) as ModelRequest;
    expect(results(inner)[0]?.content).toBe(
      'Not allowed: shell(make a): it needs approval and nobody can be asked here. Do not try it another way. Go on without it, or say in your answer what you would have done.',
    );
  });
});
