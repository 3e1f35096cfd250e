import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/models/contract.ts';
import { call, workshop } from '../runtime/workshop.ts';

const lastText = ({ messages }: ModelRequest) => (messages.at(-1) as { content: string }).content;
const delegate = (skill: string) => (request: ModelRequest) => {
  if (request.skill) return `did ${lastText(request)}`;
  return lastText(request).includes('Subagent reference')
    ? lastText(request)
    : { calls: [call('run_skill', { name: skill, arguments: 'it' })] };
};
const count = (text: string, part: string) => text.split(part).length - 1;

describe('skills that a sub-agent starts with', () => {
  it('F35: hidden ones are there, doubled ones once, unknown ones are said to child and parent; cycles end', async () => {
    const shop = workshop();
    shop.skill('work', { runAs: 'subagent', skills: ['a', 'hidden', 'a', 'nosuch', 'work', 'A'] }, 'You work.');
    shop.skill('a', { skills: ['b'] }, 'Body of a.');
    shop.skill('b', { skills: ['a'] }, 'Body of b.');
    shop.skill('hidden', { 'disable-model-invocation': true }, 'Body of hidden.');
    const { runtime, model } = await shop.open(delegate('work'));
    const { answer, subagents } = await (await runtime.session()).send('go').result;
    const system = model.requests.find(({ skill }) => skill === 'work')?.system ?? '';
    expect(system.startsWith('You work.')).toBe(true);
    for (const part of ['<skill-pin name="a">', 'Body of a.', 'Body of hidden.', 'nosuch']) {
      expect(count(system, part), part).toBe(1);
    }
    expect(system).not.toContain('Body of b.');
    expect(count(answer, 'nosuch')).toBe(1);
    expect(answer).toMatch(
      /Continue with [^\n]*\n\nThe skill work asks for skills that do not exist here: nosuch\.[^\n]*\n\ndid it$/,
    );
    const log = await runtime.store.read(subagents[0]?.ref ?? '');
    const loaded = log.flatMap((event) => (event.type === 'skill.loaded' ? [event] : []));
    expect(loaded).toMatchObject([
      { name: 'a', via: 'preload' },
      { name: 'hidden', via: 'preload' },
    ]);
  });

  it('is the same for code and for a list of items, and the frozen prompt stays when a child goes on', async () => {
    const shop = workshop();
    shop.skill('work', { runAs: 'subagent', skills: ['a', 'nosuch'] }, 'You work.');
    shop.skill('a', {}, 'Body of a.');
    const { runtime, model } = await shop.open((request) => `did ${lastText(request)}`);
    const seen: string[] = [];
    runtime.observe((observation) => {
      if (observation.kind === 'progress') seen.push(observation.text);
    });
    const run = await runtime.skill('work').run('it');
    shop.skill('a', {}, 'Another body.');
    await run.continue('more');
    const items = await (await runtime.session()).runSkill({ name: 'work', items: ['x', 'y'] }).result;
    expect(items.answer).toContain('nosuch');
    expect(seen.filter((text) => text.includes('nosuch'))).toHaveLength(2);
    const [first, second, ...others] = model.requests.map(({ system }) => system);
    expect(first).toContain('Body of a.');
    expect(second).toBe(first);
    expect(others.every((system) => system.includes('Another body.'))).toBe(true);
  });

  it('leaves out what does not fit, and says so', async () => {
    const shop = workshop();
    shop.skill('work', { runAs: 'subagent', skills: ['large', 'huge', 'small'] }, 'You work.');
    shop.skill('large', {}, `large ${'x'.repeat(40_000)}`);
    shop.skill('huge', {}, `huge ${'x'.repeat(40_000)}`);
    shop.skill('small', {}, 'Body of small.');
    const { runtime, model } = await shop.open(delegate('work'));
    await (await runtime.session()).send('go').result;
    const system = model.requests.find(({ skill }) => skill === 'work')?.system ?? '';
    expect(system).toContain('large xxx');
    expect(system).not.toContain('huge xxx');
    expect(system).toContain('Body of small.');
    expect(system).toMatch(/too large to be put here as well: huge\./);
  });

  it.each(['false', 'true'])('what is required is not there twice (in_system_prompt=%s)', async (inPrompt) => {
    const shop = workshop();
    shop.skill('work', { runAs: 'subagent', skills: ['a'], required: ['a'] }, 'You work.');
    shop.skill('a', {}, 'Body of a.');
    const { runtime, model } = await shop.open(delegate('work'), {
      overrides: [`skills.required.in_system_prompt=${inPrompt}`],
    });
    await (await runtime.session()).send('go').result;
    const requests = model.requests.filter(({ skill }) => skill === 'work');
    expect(requests).toHaveLength(1);
    expect(count(JSON.stringify(requests), 'Body of a.')).toBe(1);
  });
});

it('a child has its own required skills, and none of its parent', async () => {
  const shop = workshop();
  shop.write('.reasonix/required_skills.txt', 'house\n');
  shop.skill('house', {}, 'Rules of the house.');
  shop.skill('own', {}, 'Rules of the child.');
  shop.skill('work', { runAs: 'subagent', required: ['own'] }, 'You work.');
  const { runtime, model } = await shop.open(
    (request) => {
      const nudged = request.messages.at(-1);
      if (nudged?.role === 'user' && nudged.origin === 'nudge') {
        const name = /own|house/.exec(nudged.content)?.[0];
        return { calls: [call('run_skill', { name })] };
      }
      return delegate('work')(request);
    },
    { overrides: ['skills.required.force=false'] },
  );
  const run = await (await runtime.session()).send('go').result;
  expect(run.status).toBe('completed');
  const loadedBy = async (id: string) =>
    (await runtime.store.read(id)).flatMap((event) => (event.type === 'skill.loaded' ? [event.name] : []));
  expect(await loadedBy(run.subagents[0]?.ref ?? '')).toEqual(['own']);
  const ofParent = await loadedBy(run.session);
  expect(ofParent).toContain('house');
  expect(ofParent).not.toContain('own');
  expect(
    model.requests
      .filter(({ skill }) => skill === 'work')
      .every((request) => !JSON.stringify(request).includes('Rules of the house')),
  ).toBe(true);
});
