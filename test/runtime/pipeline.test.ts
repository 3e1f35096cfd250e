import { expect, it } from 'vitest';
import type { ModelRequest } from '../../src/models/contract.ts';
import { chain, fanOut, until } from '../../src/runtime/pipeline.ts';
import { workshop } from './workshop.ts';

const lastText = ({ messages }: ModelRequest) => (messages.at(-1) as { content: string }).content;
const firstText = ({ messages }: ModelRequest) => (messages[0] as { content: string }).content;
const shopWith = (...skills: string[]) => {
  const shop = workshop();
  for (const name of skills) shop.skill(name, { runAs: 'subagent' }, `You ${name}.`);
  return shop;
};

it('chain gives each step the answer before it, and ends with the first that does not complete', async () => {
  const { runtime } = await shopWith('dig', 'wash', 'sell').open((request) => {
    const seen = (lastText(request).match(/^(?:dig|wash)ed .*$/gm) ?? []).join('+');
    if (request.skill === 'wash' && firstText(request).startsWith('badly')) return '';
    return `${request.skill}ed ${seen || 'nothing'}`;
  });
  const step = (name: string, task: string) => ({ skill: runtime.skill(name), task });
  const runs = await chain([step('dig', 'a'), step('wash', 'b'), step('sell', 'c')]);
  expect(runs.map(({ answer }) => answer)).toEqual([
    'diged nothing',
    'washed diged nothing',
    'selled washed diged nothing',
  ]);
  const short = await chain([step('dig', 'a'), step('wash', 'badly'), step('sell', 'c')]);
  expect(short.map(({ status }) => status)).toEqual(['completed', 'no_answer']);
  await expect(chain([step('nosuch', 'a')])).rejects.toMatchObject({ code: 'skill_refused' });
});

it('fanOut keeps the order, runs no more at once than it may, and a failed one is one failed result', async () => {
  let running = 0;
  let most = 0;
  let meet = () => {};
  const met = new Promise<void>((resolve) => {
    meet = resolve;
  });
  const { runtime } = await shopWith('dig').open(async (request) => {
    most = Math.max(most, ++running);
    if (running === 2) meet();
    // The first two are there at the same time, or this never goes on.
    await met;
    running--;
    return firstText(request) === 'c' ? '' : `dug ${firstText(request)}`;
  });
  const results = await fanOut(runtime.skill('dig'), ['a', 'b', 'c', '', 'e'], { concurrency: 2 });
  expect(results.map(({ ok, task, run }) => [ok, task, run?.answer])).toEqual([
    [true, 'a', 'dug a'],
    [true, 'b', 'dug b'],
    [false, 'c', ''],
    [false, '', undefined],
    [true, 'e', 'dug e'],
  ]);
  expect(results[3]).toMatchObject({ error: expect.stringContaining('needs a task') });
  expect(most).toBe(2);
  const stopped = await fanOut(runtime.skill('dig'), ['a'], { signal: AbortSignal.abort() });
  expect(stopped).toMatchObject([{ ok: false, task: 'a' }]);
});

it('until goes on in one thread until it is satisfied, or the rounds are used up', async () => {
  const { runtime } = await shopWith('dig').open(
    ({ messages }) => `${messages.filter(({ role }) => role === 'user').length}`,
  );
  const first = await runtime.skill('dig').run('x');
  const seen: number[] = [];
  const done = await until(first, (run, round) => {
    seen.push(round);
    return run.answer === '3' ? undefined : 'more';
  });
  expect(done).toMatchObject({ rounds: 2, satisfied: true, run: { answer: '3', ref: first.ref } });
  expect(seen).toEqual([0, 1, 2]);
  expect(await until(done.run, () => 'more', { rounds: 1 })).toMatchObject({
    rounds: 1,
    satisfied: false,
    run: { answer: '4' },
  });
  expect(await until({ ...first, status: 'failed' }, () => 'more')).toMatchObject({ rounds: 0, satisfied: false });
});
