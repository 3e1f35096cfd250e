import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { scriptedModel } from '../../src/models/scripted.ts';
import { readScript } from '../../src/models/scripted-file.ts';
import { scriptSchema } from '../../src/models/scripted-format.ts';
import { HELPERS } from '../../src/models/scripted-helpers.ts';
import { SOURCES } from '../../src/models/scripted-scope.ts';
import { assistant, never, request, result, user } from './requests.ts';

describe('docs/scripted-model.md', () => {
  let page: string;
  beforeAll(async () => {
    page = await readFile(join(import.meta.dirname, '../../docs/scripted-model.md'), 'utf8');
  });

  it('names every condition, field, source and helper', () => {
    const rule = scriptSchema().shape.rules.element.shape;
    const names = [
      ...Object.keys(HELPERS),
      ...Object.keys(SOURCES),
      ...Object.keys(rule),
      ...Object.keys(rule.when.unwrap().shape),
    ];
    expect(names.length).toBeGreaterThan(60);
    const code = Array.from(page.matchAll(/`([^`\n]+)`/g), ([, text]) => text).join(' ');
    for (const name of names) expect(code, name).toMatch(new RegExp(`\\b${name}\\b`));
  });

  it('shows a script that runs', async () => {
    const [, source = ''] = /```yaml\n(.*?)```/s.exec(page) ?? [];
    const model = scriptedModel(readScript(source, 'docs'));
    const ask = (messages: Parameters<typeof request>[0], more = {}) =>
      model.generate(request(messages, more), { signal: never });

    const first = await ask([user('logging')]);
    expect(first.toolCalls.map((call) => JSON.parse(call.arguments).arguments)).toEqual([
      'How is logging done?',
      'Who uses logging?',
    ]);
    const found = result('c', 'grep', 'a.ts:1:TODO\nb.ts:2:TODO\na.ts:9:TODO');
    const child = await ask([user('x', 'task'), assistant('', [['c', 'grep']]), found], { skill: 'research' });
    expect(child.text).toBe('3 places in 2 files:\n- a.ts: 2\n- b.ts: 1\n');
    const answer = `Subagent reference: sa_00000001\nStatus: completed\nSkill: research\n\n${child.text}`;
    const last = await ask([
      user('logging'),
      assistant('', [
        ['a', 'run_skill'],
        ['b', 'run_skill'],
      ]),
      result('a', 'run_skill', answer),
      result('b', 'run_skill', answer.replace('00001', '00002')),
    ]);
    expect(last.text).toBe('6 places in all.\nAsk further with sa_00000001.\n');
  });
});
