import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { filterList, type ListOptions } from '../../src/skills/list-filter.ts';
import { processorTime } from '../helpers/processor-time.ts';
import { SkillFolder } from './folder.ts';
import { madeSkill } from './made.ts';

const options = (more: Partial<ListOptions> = {}): ListOptions => ({
  include: [],
  exclude: [],
  top_percent: 0,
  style: 'full',
  ...more,
});
const none = new Map<string, number>();
const skills = [
  madeSkill({ name: 'deploy-app' }),
  madeSkill({ name: 'deploy-db' }),
  madeSkill({ name: 'help', scope: 'builtin' }),
  madeSkill({ name: 'pack:lint' }),
  madeSkill({ name: 'review' }),
];
const names = async (...input: Parameters<typeof filterList>): Promise<string[]> =>
  (await filterList(...input)).listed.map(({ name }) => name);

describe('globs', () => {
  it('include, then exclude, then built-ins again', async () => {
    expect(await names(skills, options({ include: ['deploy-*', 'pack:*'], exclude: ['*-db'] }), none)).toEqual([
      'deploy-app',
      'help',
      'pack:lint',
    ]);
    expect(await names(skills, options({ include: ['{review,*-db}', '[a-d]eploy-app'] }), none)).toEqual([
      'deploy-app',
      'deploy-db',
      'help',
      'review',
    ]);
  });

  it('of exclude * leave built-ins and required skills, and write nothing', async () => {
    using folder = new SkillFolder();
    const file = folder.write('exclude.txt', '\ufeff# nobody\r\n\r\n  *   # all\r\n');
    const before = readFileSync(file);
    expect(await names(skills, options({ exclude_file: file }), none, ['review'])).toEqual(['help', 'review']);
    expect(readFileSync(file)).toEqual(before);
  });

  it('come from the key and the file together', async () => {
    using folder = new SkillFolder();
    const file = folder.write('include.txt', 'review\n');
    expect(await names(skills, options({ include: ['pack:*'], include_file: file }), none)).toEqual([
      'help',
      'pack:lint',
      'review',
    ]);
  });

  it('cross slashes, and are linear on hostile patterns', async () => {
    const odd = [madeSkill({ name: 'team/a' }), madeSkill({ name: 'a'.repeat(250) })];
    expect(await names(odd, options({ include: ['team*', 't{e}am*'] }), none)).toEqual(['team/a']);
    const started = processorTime();
    await names(odd, options({ exclude: [`${'*a'.repeat(60)}b`] }), none);
    expect(processorTime() - started).toBeLessThan(1_000);
  });

  it('of a file that is not there are an error that names key and file', async () => {
    await expect(filterList(skills, options({ include_file: '/nowhere/x.txt' }), none)).rejects.toMatchObject({
      code: 'config',
      message: expect.stringMatching(/skills\.list\.include_file \/nowhere\/x\.txt/),
    });
  });
});

describe('the most used share', () => {
  const usage = new Map([
    ['review', 5],
    ['deploy-db', 1],
    ['deploy-app', 1],
  ]);

  it('rounds up, ties by name', async () => {
    // 40 % of five is two: review, then deploy-app before deploy-db
    expect(await names(skills, options({ top_percent: 40 }), usage)).toEqual(['deploy-app', 'help', 'review']);
    expect(await names(skills, options({ top_percent: 41 }), usage)).toEqual([
      'deploy-app',
      'deploy-db',
      'help',
      'review',
    ]);
    expect(await names(skills, options({ top_percent: 1 }), usage)).toEqual(['help', 'review']);
  });

  it('is of what the globs leave', async () => {
    expect(await names(skills, options({ exclude: ['review'], top_percent: 25 }), usage)).toEqual([
      'deploy-app',
      'help',
    ]);
  });

  it('is everything when nothing was recorded of these skills, and at 0 and 100', async () => {
    for (const [percent, counts] of [
      [10, none],
      [10, new Map([['elsewhere', 3]])],
      [0, usage],
      [100, usage],
    ] as const) {
      expect(await names(skills, options({ top_percent: percent }), counts)).toHaveLength(5);
    }
  });

  it.each([-1, 100.5, Number.NaN])('refuses %s', async (percent) => {
    await expect(filterList(skills, options({ top_percent: percent }), none)).rejects.toMatchObject({ code: 'config' });
  });
});

describe('what authors keep from models', () => {
  const manual = madeSkill({ name: 'manual', invocation: 'manual' });
  const users = madeSkill({ name: 'users', disableModelInvocation: true });

  it('is not listed, and a required manual skill is', async () => {
    expect(await names([manual, users], options(), none)).toEqual([]);
    expect(await names([manual, users], options(), none, ['manual', 'users'])).toEqual(['manual']);
  });
});

it('says why each skill is not listed', async () => {
  const library = [
    ...skills,
    madeSkill({ name: 'm', invocation: 'manual' }),
    madeSkill({ name: 'u', disableModelInvocation: true }),
  ];
  const usage = new Map([['deploy-app', 2]]);
  const { listed, hidden, required } = await filterList(
    library,
    options({ include: ['deploy-*', 'review'], exclude: ['deploy-db'], top_percent: 50 }),
    usage,
    ['pack:lint', 'gone'],
  );
  expect(listed.map(({ name }) => name)).toEqual(['deploy-app', 'help', 'pack:lint']);
  expect(required).toEqual(['pack:lint']);
  expect(hidden).toEqual([
    { name: 'deploy-db', reason: 'skills.list.exclude has "deploy-db"' },
    { name: 'review', reason: 'place 2 of 2 by use (0 sessions), skills.list.top_percent is 50' },
    { name: 'm', reason: 'invocation: manual' },
    { name: 'u', reason: 'disable-model-invocation: only a user starts it' },
  ]);
});
