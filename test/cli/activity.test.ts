import { setImmediate as settled } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ActivityTree } from '../../src/cli/run/activity.ts';
import { progressLine } from '../../src/cli/run/plain-progress.ts';
import { finalLines, treeLines } from '../../src/cli/run/tree-lines.ts';
import { widthOf } from '../../src/cli/terminal.ts';
import type { SessionEvent } from '../../src/core/events.ts';
import { noUsage } from '../../src/core/usage.ts';
import type { Observation } from '../../src/session/host.ts';

const at = new Date(0).toISOString();
let seq = 0;
const seen = (session: string, event: SessionEvent): Observation => ({
  kind: 'event',
  session,
  event: { ...event, seq: ++seq, at },
});

const begun = (session: string, parent: string, skill: string, call = 'c'): Observation =>
  seen(session, {
    type: 'session.started',
    session,
    kind: 'child',
    root: 's_root',
    parent: { session: parent, call },
    skill: { name: skill, hash: 'h', path: '/p' },
    system: '',
    tools: [],
    model: { provider: 'p', name: 'm' },
    budget: { steps: 9 },
    depth: 1,
    cwd: '/',
  });
const answered = (session: string, calls: [id: string, name: string, args: object][] = []): Observation =>
  seen(session, {
    type: 'assistant.message',
    text: '',
    toolCalls: calls.map(([id, name, args]) => ({ id, name, arguments: JSON.stringify(args) })),
    usage: { ...noUsage(), input: 1000, output: 200 },
    cost: 0.5,
    model: 'm',
    finishReason: 'stop',
  });
const asked = (session: string, parent: string, call: string): Observation =>
  seen(session, { type: 'user.message', origin: 'task', content: 'look', from: { session: parent, call } });
const resulted = (session: string, call: string): Observation =>
  seen(session, { type: 'tool.result', call, name: 't', content: '', isError: false });
const ended = (session: string, status: 'completed' | 'failed' = 'completed'): Observation =>
  seen(session, { type: 'turn.ended', status, answer: '' });
const limited = (session: string): Observation =>
  seen(session, {
    type: 'turn.ended',
    status: 'limit',
    answer: '',
    reason: 'steps limit of 9 reached (set by max-steps of the skill research, /p)',
    limit: { which: 'steps', limit: 9, setBy: 'max-steps of the skill research, /p' },
  });

const look = { columns: 140, rows: 20, paint: (_: string, text: string) => text, now: 5_000 };

function observed(
  observations: Observation[],
  options: Partial<ConstructorParameters<typeof ActivityTree>[0]> = {},
): ActivityTree {
  const tree = new ActivityTree({ root: 's_root', now: () => 0, ...options });
  for (const observation of observations) tree.observe(observation);
  return tree;
}

describe('the tree of a run', () => {
  test('shows who works for whom, on what, and what it used', () => {
    const tree = observed([
      answered('s_root', [
        ['c1', 'run_skill', { name: 'research' }],
        ['c2', 'run_skill', { name: 'research' }],
      ]),
      begun('sa_one', 's_root', 'research', 'c1'),
      asked('sa_one', 's_root', 'c1'),
      begun('sa_two', 's_root', 'research', 'c2'),
      asked('sa_two', 's_root', 'c2'),
      answered('sa_one', [['x', 'grep', { pattern: 'retry' }]]),
      begun('sa_deep', 'sa_one', 'explore'),
      asked('sa_deep', 'sa_one', 'c'),
      ended('sa_two'),
      resulted('s_root', 'c2'),
    ]);
    expect(treeLines(tree.root, look).map((line) => line.replace(/[⠋-⠿]/u, '*'))).toEqual([
      '* agent · step 1 · waits for research · ▰▱ 1/2 · 1.2k tokens · cost 0.500 · 5.0s',
      '├─ * research sa_one · step 1/9 ▰▱▱▱▱▱▱▱ · grep retry · 1.2k tokens · cost 0.500 · 5.0s',
      '│  └─ * explore sa_deep · step 1/9 ▰▱▱▱▱▱▱▱ · thinking · 5.0s',
      '└─ ✓ research sa_two · completed · 0 steps · 0.0s',
    ]);
    expect(finalLines(tree.root, look)).toHaveLength(3);
  });

  test('says why a session ended, and who waits for a slot', () => {
    const tree = observed([
      answered('s_root', [
        ['c1', 'run_skill', { name: 'research' }],
        ['c2', 'run_skill', { name: 'explore' }],
        ['c3', 'grep', { pattern: 'x' }],
      ]),
      begun('sa_one', 's_root', 'research', 'c1'),
    ]);
    const lines = () => treeLines(tree.root, look).map((line) => line.replace(/[⠋-⠿]/u, '*'));
    expect(lines()).toEqual([
      '* agent · step 1 · grep x · waits for research, explore waits for a slot · 1.2k tokens · cost 0.500 · 5.0s',
      '└─ · research sa_one · waits for a slot',
    ]);
    tree.observe(asked('sa_one', 's_root', 'c1'));
    tree.observe(limited('sa_one'));
    expect(lines()[1]).toBe(
      '└─ ✗ research sa_one · limit:steps · 0 steps · 0.0s · steps limit of 9 reached (set by max-steps of the skill research, /p)',
    );
  });

  test('in few columns what happens comes before the reference', () => {
    const tree = observed([begun('sa_0123456789', 's_root', 'research'), asked('sa_0123456789', 's_root', 'c')]);
    const [, line = ''] = treeLines(tree.root, { ...look, columns: 50 });
    expect(line.replace(/[⠋-⠿]/u, '*')).toBe('└─ * research · step 1/9 · thinking · 5.0s · sa_…');
  });

  test('a turn that nobody runs stands still', () => {
    const tree = observed([begun('sa_one', 's_root', 'research'), asked('sa_one', 's_root', 'c'), answered('sa_one')]);
    tree.get('sa_one')!.isHeld = false;
    expect(treeLines(tree.root, look)[1]).toContain('research sa_one · interrupted · 1 step · 1.2k tokens');
    expect(treeLines(tree.root, look)[1]).toContain('0.0s');
  });

  test('the copied answers of a fork are no steps of its own; a second turn adds to the first', () => {
    const tree = observed([
      seen('sa_fork', {
        ...(begun('sa_fork', 's_root', 'research') as Extract<Observation, { kind: 'event' }>).event,
        forkedFrom: { session: 'sa_one', seq: 4 },
      } as SessionEvent),
      seen('sa_fork', {
        type: 'assistant.message',
        text: 'old',
        toolCalls: [],
        usage: noUsage(),
        cost: 0,
        model: 'm',
        finishReason: 'stop',
      }),
      ended('sa_fork'),
      asked('sa_fork', 's_root', 'c'),
      answered('sa_fork'),
      ended('sa_fork'),
      asked('sa_fork', 's_root', 'c2'),
      answered('sa_fork'),
    ]);
    expect(tree.get('sa_fork')).toMatchObject({ steps: 2, cost: 1, call: 'c2', status: 'running' });
  });

  test('keeps to columns and rows, and drops what has ended first', () => {
    const children = Array.from({ length: 30 }, (_, index) => `sa_${index}`);
    const tree = observed(children.flatMap((id) => [begun(id, 's_root', '长名字的技能'), asked(id, 's_root', 'c')]));
    for (const id of children.slice(0, 20)) tree.observe(ended(id));
    const lines = treeLines(tree.root, { ...look, columns: 40, rows: 12 });
    expect(lines).toHaveLength(12);
    for (const line of lines) expect(widthOf(line)).toBeLessThan(40);
    expect(lines.join('\n')).toContain('thinking');
    expect(lines.join('\n')).not.toContain('✓');
    expect(lines.at(-1)).toContain('20 more');
  });

  test('a continued child is named after the call that continues it', () => {
    const tree = observed([
      answered('s_root', [['c1', 'run_skill', { name: 'research', continue_from: 'sa_old' }]]),
      seen('sa_old', {
        type: 'user.message',
        origin: 'continuation',
        content: 'more',
        from: { session: 's_root', call: 'c1' },
      }),
    ]);
    expect(tree.root.children).toMatchObject([{ session: 'sa_old', skill: 'research' }]);
  });

  test('a child whose start nobody saw is asked for', async () => {
    const known = {
      sa_child: { parent: 's_root', skill: 'research' },
      sa_deep: { parent: 'sa_child', skill: 'explore' },
    };
    const tree = observed([answered('sa_child'), answered('sa_deep')], {
      identify: async (session) => known[session as keyof typeof known],
    });
    await settled();
    expect(tree.root.children).toMatchObject([
      { session: 'sa_child', skill: 'research', children: [{ session: 'sa_deep', skill: 'explore' }] },
    ]);
  });

  test('names of authors cannot draw on the screen', () => {
    const tree = observed([begun('sa_x', 's_root', 'a\u001b[2Jb\nc')]);
    expect(treeLines(tree.root, look).join('')).not.toMatch(/[\u0000-\u001f]/);
  });
});

test('a sub-agent that failed is told with its reason, not with what a model needs to go on with it', () => {
  const tree = new ActivityTree({ root: 's_root', now: () => 0 });
  const content = `Subagent reference: sa_one\nStatus: failed\nSkill: research · steps 1\n${'x'.repeat(300)}`;
  const lines = [
    begun('sa_one', 's_root', 'research'),
    seen('sa_one', { type: 'turn.ended', status: 'failed', answer: '', reason: 'the provider\nanswered 500' }),
    seen('s_root', { type: 'tool.result', call: 'c', name: 'run_skill', content, isError: true, child: 'sa_one' }),
    seen('s_root', { type: 'tool.result', call: 'd', name: 'run_skill', content: 'no such skill', isError: true }),
  ].flatMap((observation) => {
    tree.observe(observation);
    return progressLine(observation, tree) ?? [];
  });
  expect(lines.slice(1)).toEqual([
    '  research sa_one failed: 0 steps, 0 tokens, 0.0s (the provider answered 500)',
    'agent: run_skill failed: the provider answered 500',
    'agent: run_skill failed: no such skill',
  ]);
});

test('without a terminal each event that matters is a line', () => {
  const tree = new ActivityTree({ root: 's_root', now: () => 0 });
  const lines = [
    answered('s_root', [['c1', 'run_skill', { name: 'research' }]]),
    begun('sa_one', 's_root', 'research'),
    answered('sa_one', [['x', 'grep', { pattern: 'retry' }]]),
    resulted('sa_one', 'x'),
    seen('sa_one', {
      type: 'user.message',
      origin: 'notice',
      content: 'only\nsrc',
      from: { session: 's_root', call: 'c2' },
    }),
    ended('sa_one', 'failed'),
    seen('s_root', { type: 'user.message', origin: 'notice', content: 'Subagent reference: …', child: 'sa_one' }),
    seen('s_root', { type: 'required.nudged', names: ['house-rules'], count: 1 }),
    ended('s_root'),
  ].flatMap((observation) => {
    tree.observe(observation);
    return progressLine(observation, tree) ?? [];
  });
  expect(lines).toEqual([
    'agent: run_skill research',
    '  research sa_one started',
    '  research sa_one: grep retry',
    '  research sa_one: reads only src',
    '  research sa_one failed: 1 step, 1,200 tokens, cost 0.500, 0.0s',
    'agent: has the result of sa_one',
    'agent: asked to load house-rules',
  ]);
});
