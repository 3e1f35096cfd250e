import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addUsage, noUsage, type Usage } from '../../src/core/usage.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { call, referencesIn, workshop } from './workshop.ts';

/** A turn: what each of its model calls takes, the children of its first step, and how it goes on with one. */
interface Work {
  input: number;
  output: number;
  children: Work[];
  again: 'continue' | 'fork' | 'none';
}

const { work } = fc.letrec<{ work: Work }>((tie) => ({
  work: fc.record({
    input: fc.integer({ min: 1, max: 50 }),
    output: fc.integer({ min: 1, max: 50 }),
    children: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constant<Work[]>([]),
      fc.array(tie('work'), { maxLength: 3 }),
    ),
    again: fc.constantFrom<Work['again']>('continue', 'fork', 'none'),
  }),
}));

const deeper = ({ children }: Work): number => 1 + Math.max(0, ...children.map(deeper));
const within = (depth: number) => work.filter((each) => deeper(each) <= depth);

const LEAF: Work = { input: 7, output: 3, children: [], again: 'none' };

/** Works off the JSON of the newest task. */
function script(request: ModelRequest) {
  const begun = request.messages.findLastIndex(
    (message) => message.role === 'user' && message.origin !== 'notice' && message.origin !== 'nudge',
  );
  const asked = request.messages[begun] as { content: string };
  const { input, output, children, again } = JSON.parse(asked.content) as Work;
  const steps = request.messages.slice(begun).filter(({ role }) => role === 'assistant').length;
  const usage = { input, output };
  if (steps === 0 && children.length > 0) {
    return {
      calls: children.map((child) => call('run_skill', { name: 'work', arguments: JSON.stringify(child) })),
      usage,
    };
  }
  const [first] = referencesIn(request.messages.slice(begun));
  if (steps === 1 && children.length > 0 && again !== 'none' && first) {
    const from = again === 'continue' ? { continue_from: first } : { fork_from: first };
    return { calls: [call('run_skill', { name: 'work', arguments: JSON.stringify(LEAF), ...from })], usage };
  }
  return { text: 'done', usage };
}

const usageOf = (input: number, output: number): Usage => ({ ...noUsage(), input, output });

/** What the work takes when it is done as it was asked for. */
function expected({ input, output, children, again }: Work): { own: Usage; total: Usage; sessions: number } {
  const goesOn = children.length > 0 && again !== 'none';
  const steps = children.length === 0 ? 1 : goesOn ? 3 : 2;
  const own = usageOf(input * steps, output * steps);
  const below = children.map(expected);
  const extra = goesOn ? usageOf(LEAF.input, LEAF.output) : noUsage();
  return {
    own,
    total: below.reduce((sum, { total }) => addUsage(sum, total), addUsage(own, extra)),
    sessions: below.reduce((sum, { sessions }) => sum + sessions, 1) + (goesOn && again === 'fork' ? 1 : 0),
  };
}

test('a run reports what it took: own, every sub-agent, and the sum, each token once', async () => {
  const shop = workshop();
  shop.skill('work', { runAs: 'subagent' }, 'Work.');
  const { runtime } = await shop.open(script, { overrides: ['agent.max_spawns=1000'] });
  const session = await runtime.session();
  await fc.assert(
    fc.asyncProperty(within(4), async (tree) => {
      // Of one session again and again: each report is about its own run.
      const run = await session.send(JSON.stringify(tree)).result;
      const { own, total, sessions } = expected(tree);
      expect(run.status).toBe('completed');
      expect(run.usage).toEqual({ own, total });
      expect(run.subagents).toHaveLength(sessions - 1);
      expect(run.subagents.reduce((sum, { usage }) => addUsage(sum, usage), own)).toEqual(total);
      const depths = run.subagents.map(({ depth, parent }) =>
        parent === session.id ? depth === 1 : depth === 1 + run.subagents.find(({ ref }) => ref === parent)!.depth,
      );
      expect(depths.every(Boolean)).toBe(true);
    }),
    { numRuns: 15 },
  );
});
