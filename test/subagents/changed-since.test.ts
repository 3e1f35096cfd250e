import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ReasonixError } from '../../src/core/errors.ts';
import type { Models } from '../../src/models/contract.ts';
import { modelsOf } from '../../src/models/models.ts';
import { type ScriptedFunction, scriptedModel } from '../../src/models/scripted.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { call, referencesIn, type Workshop, workshop } from '../runtime/workshop.ts';

const clock = defineTool({
  name: 'clock',
  description: 'The time.',
  input: z.object({}),
  effects: 'read',
  execute: async () => 'noon',
});

const helper = { runAs: 'subagent' };

/** Starts `helper` on the first turn and continues it on the second. */
const parentAndChild: ScriptedFunction = ({ skill, messages }) => {
  const last = messages.at(-1);
  if (skill === 'helper') {
    const text = last?.role === 'user' ? last.content : '';
    return { text: `heard: ${text}` };
  }
  if (last?.role === 'tool') return { text: last.content };
  const [reference] = referencesIn(messages);
  const more = reference === undefined ? {} : { continue_from: reference };
  return { calls: [call('run_skill', { name: 'helper', arguments: `turn of ${messages.length}`, ...more })] };
};

/** Models under one name, all others being unknown. */
function onlyModel(name: string): Models {
  const { resolve } = modelsOf(scriptedModel(parentAndChild), { model: name });
  return {
    async resolve(wanted = name) {
      if (wanted === name || wanted === `scripted/${name}`) return resolve(wanted);
      throw new ReasonixError('model_not_found', `no model ${wanted} is configured`);
    },
  };
}

/** A session that has delegated once, and whose process has ended. */
async function delegatedOnce(shop: Workshop, options: RuntimeOptions = {}): Promise<{ session: string; ref: string }> {
  const { runtime } = await shop.open(parentAndChild, options);
  const session = await runtime.session();
  const { subagents } = await session.send('start').result;
  await runtime.close();
  return { session: session.id, ref: subagents[0]?.ref ?? '' };
}

test('a continued child is told which of its tools are gone, and goes on without them', async () => {
  const shop = workshop();
  shop.skill('helper', helper, 'Help.');
  const { session } = await delegatedOnce(shop, { tools: [clock] });

  const second = await shop.open(parentAndChild);
  const { answer } = await (await second.runtime.session({ resume: session })).send('again').result;
  expect(answer).toMatch(/heard: turn of 5\n\n\(These tools are no longer available: clock\. Do without them\.\)/);

  const third = await shop.open(parentAndChild, { tools: [clock] });
  const back = await (await third.runtime.session({ resume: session })).send('again').result;
  expect(back.answer).not.toMatch(/no longer available/);
});

test('a continued child whose model is gone is told, and goes on with the one of its parent', async () => {
  const shop = workshop();
  shop.skill('helper', { ...helper, model: 'old' }, 'Help.');
  const { session } = await delegatedOnce(shop, { models: onlyModel('old') });

  const second = await shop.open(parentAndChild, { models: onlyModel('new'), onProblem: () => {} });
  const resumed = await second.runtime.session({ resume: session, model: 'new' });
  const result = await resumed.send('again').result;
  expect(result.answer).toMatch(/\(The model old of this thread is no longer available\. You go on as new\.\)/);
  expect(result.subagents).toMatchObject([{ status: 'completed' }]);
});

test('a body that was edited, a tool and a model that are gone are said together, once a continuation', async () => {
  const shop = workshop();
  shop.skill('helper', helper, 'Help.');
  const { session } = await delegatedOnce(shop, { tools: [clock] });
  shop.skill('helper', helper, 'Help better.');
  const second = await shop.open(parentAndChild);
  const { answer } = await (await second.runtime.session({ resume: session })).send('again').result;
  expect(answer.match(/was edited since/g)).toHaveLength(1);
  expect(answer.match(/no longer available: clock/g)).toHaveLength(1);
});

test('a child whose skill was deleted is told, and goes on by what it has', async () => {
  const shop = workshop();
  shop.skill('helper', { ...helper, 'max-steps': 7, 'read-only': true }, 'Help.');
  const { session, ref } = await delegatedOnce(shop);
  rmSync(join(shop.cwd, '.reasonix/skills/helper'), { recursive: true });
  const second = await shop.open(parentAndChild);
  const { subagents } = await (await second.runtime.session({ resume: session })).send('again').result;
  expect(subagents).toMatchObject([{ ref, status: 'completed' }]);
  const said = second.model.requests.flatMap(({ skill, messages }) => (skill === 'helper' ? [messages.at(-1)] : []));
  expect(said).toMatchObject([{ content: expect.stringContaining('"helper" no longer exists') }]);
  const other = await (await second.runtime.session()).send('start').result;
  expect(other.answer).toContain('There is no skill "helper"');
  await second.runtime.close();
});

test('a child that a person goes on with is told, too; without its model it says what to do', async () => {
  const shop = workshop();
  shop.skill('helper', { ...helper, model: 'old' }, 'Help.');
  const { ref } = await delegatedOnce(shop, { models: onlyModel('old'), tools: [clock] });
  shop.skill('helper', helper, 'Help better.');

  const second = await shop.open(parentAndChild, { models: onlyModel('new') });
  const lost = await (await second.runtime.session({ resume: ref })).send('go on').result;
  expect(lost).toMatchObject({ status: 'failed', error: expect.stringMatching(/scripted\/old.*--model NAME/s) });
  const child = await second.runtime.session({ resume: ref, model: 'new' });
  const { answer } = await child.send('go on').result;
  expect(answer).toMatch(/heard: go on\n\n\(.*was edited since[\s\S]*no longer available: clock/);
});
