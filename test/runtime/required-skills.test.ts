import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/models/contract.ts';
import { call, workshop } from './workshop.ts';

const notes = ({ messages }: ModelRequest, origin: string) =>
  messages.flatMap((message) => (message.role === 'user' && message.origin === origin ? [message.content] : []));

/** A project that requires three skills, one of them hidden from models. */
function strictShop() {
  const shop = workshop();
  shop.skill('style', {}, 'Write in style.');
  shop.skill('safety', {}, 'Stay safe.');
  shop.skill('hidden', { invocation: 'manual' }, 'A hidden rule.');
  shop.write('.claude/required_skills.txt', '# house rules\nstyle\n\nsafety # always\n');
  shop.write('.scorpiox/required_skills.txt', 'hidden\nstyle\n');
  return shop;
}

describe('required skills', () => {
  it('three that are ignored bring exactly three nudges, then they are injected in one message', async () => {
    const shop = strictShop();
    const { runtime, model } = await shop.open(() => 'done, I think');
    const run = await (await runtime.session()).send('go').result;
    expect(run).toMatchObject({
      status: 'completed',
      required: {
        names: ['style', 'safety', 'hidden'],
        loaded: ['style', 'safety', 'hidden'],
        nudges: 3,
        injected: ['style', 'safety', 'hidden'],
      },
    });
    const last = model.requests.at(-1) as ModelRequest;
    expect(notes(last, 'nudge')).toHaveLength(3);
    for (const nudge of notes(last, 'nudge')) expect(nudge).toContain('style, safety, hidden');
    const [injected] = notes(last, 'notice');
    for (const body of ['Write in style.', 'Stay safe.', 'A hidden rule.']) expect(injected).toContain(body);
    expect(model.requests).toHaveLength(5);
  });

  it('a nudge names only what is missing, and none comes once all are loaded', async () => {
    const shop = strictShop();
    const { runtime, model } = await shop.open((request) => {
      const nudges = notes(request, 'nudge').length;
      if (request.messages.length === 1)
        return { calls: [call('run_skill', { name: 'style' }), call('run_skill', { name: 'safety' })] };
      return nudges === 0 || request.messages.at(-1)?.role === 'tool'
        ? 'done'
        : { calls: [call('read_skill', { name: 'hidden' })] };
    });
    const run = await (await runtime.session()).send('go').result;
    expect(run).toMatchObject({ status: 'completed', required: { nudges: 1, injected: [] } });
    expect(notes(model.requests.at(-1) as ModelRequest, 'nudge')).toEqual([
      expect.stringMatching(/not loaded yet: hidden\./),
    ]);
  });

  it('with fail the turn ends as failed and names them', async () => {
    const { runtime } = await strictShop().open(() => 'done', { overrides: ['skills.required.policy=fail'] });
    const run = await (await runtime.session()).send('go').result;
    expect(run).toMatchObject({ status: 'failed', answer: 'done', required: { nudges: 3 } });
    expect(run.error).toBe('required skills were not loaded after 3 nudges: style, safety, hidden');
  });

  it('with allow the turn may end', async () => {
    const { runtime } = await strictShop().open(() => 'done', {
      overrides: ['skills.required.policy=allow', 'skills.required.max_nudges=1'],
    });
    expect(await (await runtime.session()).send('go').result).toMatchObject({
      status: 'completed',
      required: { nudges: 1, loaded: [] },
    });
  });

  it('force injects before the first model call; the system prompt holds them when asked to', async () => {
    const shop = strictShop();
    const forced = await shop.open(() => 'done', { env: { REQUIRED_SKILLS_FORCED: '1' } });
    const one = await (await forced.runtime.session()).send('go').result;
    expect(one.required).toMatchObject({ nudges: 0, injected: ['style', 'safety', 'hidden'] });
    expect(forced.model.requests).toHaveLength(1);
    const frozen = await shop.open(() => 'done', { env: { REQUIRED_SKILLS_IN_SYSTEM_PROMPT: '1' } });
    const two = await (await frozen.runtime.session()).send('go').result;
    expect(two.required).toMatchObject({ nudges: 0, injected: [], loaded: ['style', 'safety', 'hidden'] });
    expect(frozen.model.requests[0]?.system).toContain('Stay safe.');
  });

  it('is waived by !name, by the configuration and by disabling; the switch turns all of it off', async () => {
    const shop = strictShop();
    shop.write('.reasonix/required_skills.txt', '!style\n');
    const { runtime } = await shop.open(() => 'done', {
      overrides: ['skills.disabled_skills=safety', 'skills.required.names=!hidden'],
    });
    expect((await (await runtime.session()).send('go').result).required).toMatchObject({ names: [], nudges: 0 });
    const off = await shop.open(() => 'done', { env: { REQUIRED_SKILLS: '0' } });
    expect((await (await off.runtime.session()).send('go').result).required).toMatchObject({ nudges: 0 });
  });

  it('disabling one for the session waives it, and a call to it is refused while it stays listed', async () => {
    const shop = strictShop();
    const { runtime, model } = await shop.open((request) =>
      request.messages.length === 1 ? { calls: [call('run_skill', { name: 'style' })] } : 'done',
    );
    const session = await runtime.session();
    for (const name of ['style', 'safety', 'hidden']) await session.switchSkill(name, false);
    const run = await session.send('go').result;
    expect(run.required.nudges).toBe(0);
    const last = model.requests.at(-1) as ModelRequest;
    expect(last.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: 'The skill "style" is disabled. Go on without it.',
    });
    expect(last.tools.find((tool) => tool.name === 'run_skill')?.description).toContain('- style: ');
  });

  it('F35: a name that no skill has is reported once, with file and line, and brings no nudge', async () => {
    const shop = workshop();
    shop.skill('a', {}, 'A.');
    shop.write('.claude/required_skills.txt', 'a\nnosuch\na\n');
    const { runtime, model } = await shop.open((request) =>
      request.messages.at(-1)?.role === 'tool' ? 'done' : { calls: [call('run_skill', { name: 'a' })] },
    );
    const session = await runtime.session();
    await session.send('go').result;
    const run = await session.send('again').result;
    expect(run.required).toMatchObject({ names: ['a'], nudges: 0 });
    const [notice, ...more] = notes(model.requests.at(-1) as ModelRequest, 'notice');
    expect(notice).toMatch(/"nosuch" \(named in .*\.claude\/required_skills\.txt:2\) does not exist/);
    expect(more).toEqual([]);
  });

  it('F35: one that models may not load is injected at once, without a nudge', async () => {
    const shop = workshop();
    shop.skill('sealed', { 'disable-model-invocation': true }, 'A sealed rule.');
    shop.write('.claude/required_skills.txt', 'sealed\n');
    const { runtime, model } = await shop.open(() => 'done');
    const run = await (await runtime.session()).send('go').result;
    expect(run).toMatchObject({
      status: 'completed',
      required: { nudges: 0, injected: ['sealed'], loaded: ['sealed'] },
    });
    expect(notes(model.requests.at(-1) as ModelRequest, 'notice')[0]).toContain('A sealed rule.');
  });

  it('survives a resume in another process: what was loaded counts, and so do the nudges', async () => {
    const shop = strictShop();
    const first = await shop.open((request) =>
      request.messages.length === 1 ? { calls: [call('run_skill', { name: 'style' })] } : 'done',
    );
    const session = await first.runtime.session();
    await session.send('go', { limits: { steps: 4 } }).result;
    await first.runtime.close();
    const second = await shop.open(() => 'done');
    const run = await (await second.runtime.session({ resume: session.id })).send('again').result;
    expect(run.required.nudges).toBeLessThan(3);
    expect(run.required.injected).toEqual(['safety', 'hidden']);
  });

  it('a child has its own set, and the parent’s does not reach it', async () => {
    const shop = strictShop();
    shop.skill('work', { runAs: 'subagent', required: ['safety'] }, 'Work.');
    const { runtime, model } = await shop.open(
      (request) => {
        if (request.skill) return 'worked';
        return request.messages.length === 1
          ? { calls: [call('run_skill', { name: 'work', arguments: 'x' })] }
          : 'done';
      },
      { overrides: ['skills.required.max_nudges=1'] },
    );
    await (await runtime.session()).send('go').result;
    const child = model.requests.findLast((request) => request.skill === 'work') as ModelRequest;
    expect(notes(child, 'nudge')).toEqual([expect.stringContaining('safety')]);
    expect(notes(child, 'nudge')[0]).not.toContain('style');
    expect(notes(child, 'notice')[0]).toContain('Stay safe.');
  });
});

describe('lazy skills', () => {
  it('leave built-ins and the pointer in the prompt; everything stays runnable and is found', async () => {
    const shop = workshop();
    shop.skill('deploy', {}, 'Deploy it with care.');
    const { runtime, model } = await shop.open(
      (request) => {
        if (request.messages.length === 1)
          return {
            calls: [
              call('search_skills', { pattern: 'care deploy' }),
              call('InvokeSkill', { skill_name: 'deploy' }),
              call('SearchSkills', { pattern: '' }),
            ],
          };
        return 'done';
      },
      { env: { TOOL_SEARCHSKILLS: '1' } },
    );
    await (await runtime.session()).send('go').result;
    const [request] = model.requests;
    const description = request?.tools.find((tool) => tool.name === 'run_skill')?.description ?? '';
    expect(description).toContain('Use the search_skills tool first to discover available skills by keyword.');
    expect(description).toContain('- research [subagent]: ');
    expect(description).not.toContain('- deploy');
    expect(description).toContain('(+1 more skills not listed - use search_skills to discover them)');
    const [search, invoked, list] = (model.requests.at(-1) as ModelRequest).messages.filter(
      (message) => message.role === 'tool',
    );
    expect(JSON.parse(search?.content ?? '').skills[0]).toMatchObject({
      name: 'deploy',
      source: 'Project Skill',
      run_as: 'inline',
    });
    expect(invoked?.content).toContain('Deploy it with care.');
    const { matched, total } = JSON.parse(list?.content ?? '') as { matched: number; total: number };
    expect(matched).toBe(total);
  });

  it('a filter hides from the list only, brings search along, and leaves built-ins and required skills', async () => {
    const shop = workshop();
    shop.skill('deploy', {}, 'Deploy.');
    shop.skill('rules', {}, 'Rules.');
    shop.write('.reasonix/required_skills.txt', 'rules\n');
    const { runtime, model } = await shop.open(
      (request) =>
        request.messages.at(-1)?.role === 'user'
          ? { calls: [call('run_skill', { name: 'deploy' }), call('run_skill', { name: 'rules' })] }
          : 'done',
      {
        env: { SKILL_LIST_EXCLUDE: '*' },
      },
    );
    await (await runtime.session()).send('go').result;
    const tools = model.requests[0]?.tools ?? [];
    const description = tools.find((tool) => tool.name === 'run_skill')?.description ?? '';
    expect(description).toContain('- rules: ');
    expect(description).toContain('- explore [subagent]');
    expect(description).not.toContain('- deploy');
    expect(tools.map((tool) => tool.name)).toContain('search_skills');
    expect(model.requests.at(-1)?.messages.at(-2)).toMatchObject({ content: expect.stringContaining('Deploy.') });
  });

  it('without any skill there are no skill tools', async () => {
    const shop = workshop();
    const { runtime, model } = await shop.open(() => 'done', {
      overrides: ['skills.disabled_skills=explore,research,review,security-review,synthesize,create-skill,edit-skill'],
    });
    await (await runtime.session()).send('go').result;
    expect(model.requests[0]?.tools.map((tool) => tool.name).filter((name) => /skill|subagent/.test(name))).toEqual([]);
  });
});
