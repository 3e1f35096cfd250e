import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/models/contract.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { logViolations } from '../faults/check.ts';
import { type Logs, readLogs, rest } from '../faults/lives.ts';
import { Machine } from '../faults/machine.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reasonix-ceiling-'));
  for (const name of ['branch', 'leaf']) {
    const file = join(folder, '.reasonix/skills', name, 'SKILL.md');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `---\nname: ${name}\ndescription: A node.\nrunAs: subagent\n---\nYou are a node.\n`);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (name: string, more: Record<string, unknown> = {}) => ({
  name: 'run_skill',
  arguments: { name, arguments: 'Go.', ...more },
});
const hasResults = ({ messages }: ModelRequest) => messages.some(({ role }) => role === 'tool');

type Calls = ReturnType<typeof run>[];

/** A root that makes these calls at once, with branches that have two leaves each, in one life after the other. */
async function grow(
  calls: Calls,
  options: { spawns: number; dieAt?: number },
): Promise<{ logs: Logs; points: number }> {
  const store = memoryStore();
  const machines: Machine[] = [];
  const script = (request: ModelRequest) => {
    if (hasResults(request) || request.skill === 'leaf') return { text: 'done' };
    return { calls: request.skill === 'branch' ? [run('leaf'), run('leaf')] : calls };
  };
  for (const dieAt of options.dieAt === undefined ? [undefined] : [options.dieAt, undefined]) {
    const machine = new Machine({ store, dieAt });
    machines.push(machine);
    const live = async () => {
      const todo = rest(await readLogs(store));
      if (!todo) return;
      const runtime = await openRuntime({
        cwd: folder,
        home: folder,
        env: {},
        store: machine.store,
        model: machine.model(scriptedModel(script, { record: false })),
        limits: { spawns: options.spawns },
      });
      const session = await runtime.session(todo.kind === 'new' ? {} : { resume: todo.root });
      await (todo.kind === 'resume' ? session.resume() : session.send('Go.')).result;
    };
    const running = live();
    running.catch(() => {});
    await Promise.race([running, machine.death]);
    if (machine.isDead) await machine.settle();
    else await running;
  }
  for (const machine of machines) machine.bury();
  return { logs: await readLogs(store), points: machines.at(-1)?.points.length ?? 0 };
}

it.each<[string, Calls, number]>([
  ['children of one step', [run('leaf'), run('leaf'), run('leaf'), run('leaf')], 2],
  ['children of children', [run('branch'), run('branch'), run('leaf')], 4],
  ['items', [run('leaf', { items: ['a', 'b', 'c'] }), run('leaf')], 2],
  ['background children', [run('branch', { background: true }), run('leaf', { background: true }), run('leaf')], 3],
])(
  'a ceiling of spawns holds for %s, at whatever point the process dies',
  { timeout: 120_000 },
  async (_, calls, spawns) => {
    const found: Record<number, unknown> = {};
    const { points } = await grow(calls, { spawns });
    for (let dieAt = 1; dieAt <= points; dieAt++) {
      const { logs } = await grow(calls, { spawns, dieAt });
      const wrong = [...logs].flatMap(([session, events]) => logViolations(session, events));
      const children = [...logs.keys()].filter((session) => session.startsWith('sa_')).length;
      if (children > spawns) wrong.push(`${children} children with a ceiling of ${spawns}`);
      if (wrong.length > 0) found[dieAt] = wrong;
    }
    expect(found).toEqual({});
  },
);
