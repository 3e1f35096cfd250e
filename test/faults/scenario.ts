import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Message } from '../../src/core/messages.ts';
import type { Price } from '../../src/core/usage.ts';
import type { ModelClient, ModelRequest, Models } from '../../src/models/contract.ts';
import { type ScriptedFunction, scriptedModel } from '../../src/models/scripted.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Machine } from './machine.ts';

/**
 * A tree of sessions with a bit of everything: children three levels deep, side by side, one after the
 * other, one an item and beside the turn, reads, writes that show when they happen twice, an inline and
 * a required skill, a continued child, one that is given the answers of others, one that is sent a message
 * while it runs and one whose context is compacted. What each model call answers depends on its request alone.
 */

export const TASK = 'Add it all up.';
export const ANSWER = 'total 82';
/** What the writes leave behind, each line once. */
export const LINES = ['deep d', 'deep e', 'lead', 'root one', 'root two', 'slow'];

const SKILLS: Record<string, string> = {
  reader: 'runAs: subagent',
  lead: 'runAs: subagent',
  deep: 'runAs: subagent',
  leaf: 'runAs: subagent',
  merge: 'runAs: subagent',
  pages: 'runAs: subagent',
  slow: 'runAs: subagent',
  tips: '',
  rules: '',
};

/** The folders of one run: a project with the skills, and a home. */
export interface Place {
  cwd: string;
  home: string;
  /** The file that the writes append to. */
  written: string;
}

/** Makes the folders. Runs that keep what they do apart may share them: see `placeOf`. */
export function makePlace(folder: string): void {
  const { cwd, home } = placeOf(folder);
  for (const [name, header] of Object.entries(SKILLS)) {
    const file = join(cwd, '.reasonix/skills', name, 'SKILL.md');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `---\nname: ${name}\ndescription: About ${name}.\n${header}\n---\nYou are ${name}.\n`);
  }
  mkdirSync(home, { recursive: true });
}

/** The place of one of the runs in these folders. */
export const placeOf = (folder: string, run = 0): Place => ({
  cwd: join(folder, 'project'),
  home: join(folder, 'home'),
  written: join(folder, `written-${run}.txt`),
});

/** A runtime of one life over what the lives before it have left. */
export async function openLife(place: Place, machine: Machine, concurrency = 6): Promise<Runtime> {
  const { cwd, home, written } = place;
  const number = defineTool({
    name: 'number',
    description: 'The number of a letter.',
    input: z.object({ of: z.string() }),
    effects: 'read',
    execute: async ({ of }) => `number ${of.charCodeAt(0) - 96}`,
  });
  const note = defineTool({
    name: 'note',
    description: 'Writes a line.',
    input: z.object({ line: z.string() }),
    effects: 'write',
    execute: async ({ line }) => {
      appendFileSync(written, `${line}\n`);
      return 'written';
    },
  });
  const page = defineTool({
    name: 'page',
    description: 'A page, long, and the sum of its number and those before it.',
    input: z.object({ page: z.number() }),
    effects: 'read',
    execute: async ({ page: at }) => `${'word '.repeat(800)}\npage ${at} sum ${(at * (at + 1)) / 2}`,
  });
  const message = defineTool({
    name: 'message',
    description: 'Waits until somebody has sent a message.',
    input: z.object({}),
    effects: 'read',
    execute: async (_, { session, signal }) => {
      const isThere = async () => (await machine.store.read(session)).some(({ type }) => type === 'message.received');
      while (!(await isThere())) await delay(2, undefined, { signal });
      return 'there is one';
    },
  });
  return openRuntime({
    cwd,
    home,
    env: {},
    models: pricedModels(machine.model(scriptedModel(script, { record: false }))),
    store: machine.store,
    tools: [machine.tool(number), machine.tool(note), machine.tool(page), message],
    yes: true,
    overrides: [`agent.max_concurrent=${concurrency}`, 'agent.subagent_models.pages=small'],
    onProblem: (text) => {
      throw new Error(text);
    },
  });
}

/** Tokens: too few for all pages. */
const SMALL_WINDOW = 6_000;

const PAGES = 6;

const PRICE: Price = { input: 1000, output: 10_000 };

function pricedModels(client: ModelClient): Models {
  return {
    resolve: async (name = 'm') => {
      const model = name.split('/').at(-1) ?? name;
      const contextWindow = model === 'small' ? SMALL_WINDOW : 128_000;
      return { client, provider: client.provider, model, contextWindow, price: PRICE };
    },
  };
}

type ToolMessage = Extract<Message, { role: 'tool' }>;

const call = (name: string, input: Record<string, unknown>) => ({ name, arguments: JSON.stringify(input) });
const run = (name: string, task: string, more: Record<string, unknown> = {}) =>
  call('run_skill', { name, arguments: task, ...more });

/** The results since the message that began the turn, which is `task`. */
function turnOf({ messages }: ModelRequest): { task: string; results: ToolMessage[] } {
  const begun = messages.findLastIndex(
    (message) => message.role === 'user' && message.origin !== 'nudge' && message.origin !== 'notice',
  );
  const first = messages[begun];
  return {
    task: first?.role === 'user' ? first.content : '',
    results: messages.slice(begun).flatMap((message) => (message.role === 'tool' ? [message] : [])),
  };
}

/** The number that a tool gave, or the sum of the answers in a result of children. */
function numberIn({ content }: { content: string }): number {
  const answers = Array.from(content.matchAll(/^answer (\d+)$/gm), ([, number]) => Number(number));
  if (answers.length > 0) return answers.reduce((total, one) => total + one, 0);
  return Number(/(\d+)\s*$/.exec(content)?.[1] ?? Number.NaN);
}
const sum = (results: readonly { content: string }[]): number =>
  results.reduce((total, one) => total + numberIn(one), 0);
const reference = (result: ToolMessage | undefined): string =>
  /^Subagent reference: (\w+)/.exec(result?.content ?? '')?.[1] ?? '';

type Said = { text: string } | { calls: ReturnType<typeof call>[] };

/** What the background child found, wherever it was delivered. */
const besides = ({ messages }: ModelRequest): { content: string }[] =>
  messages.flatMap((message) =>
    message.role !== 'assistant' && /^Skill: slow [\s\S]*^answer \d+$/m.test(message.content) ? [message] : [],
  );

/** What it was told to add, each time that it was told so. */
const sent = ({ messages }: ModelRequest): number =>
  messages.reduce(
    (total, message) => total + Number((message.role === 'user' && /\badd (\d+)$/.exec(message.content)?.[1]) || 0),
    0,
  );

const PARTS: Record<string, (turn: { task: string; results: ToolMessage[] }, request: ModelRequest) => Said> = {
  root({ results }, request) {
    const [number, , reader, lead, , again, slow, merged, items, , , , pages] = results;
    switch (results.length) {
      case 0:
        return {
          calls: [
            call('number', { of: 'a' }),
            call('note', { line: 'root one' }),
            run('reader', 'b'),
            run('lead', 'x'),
          ],
        };
      case 4:
        return {
          calls: [run('tips', 'none'), run('reader', 'c', { continue_from: reference(reader) })],
        };
      case 6:
        return { calls: [run('slow', 'f', { background: true })] };
      case 7:
        return {
          calls: [
            run('merge', 'Add.', { inputs_from: [reference(reader), reference(lead)] }),
            call('run_skill', { name: 'leaf', items: ['g', 'h'] }),
            call('send_to_subagent', { ref: reference(slow), message: 'add 3' }),
          ],
        };
      case 10:
        return { calls: [call('note', { line: 'root two' }), call('wait_subagents', {})] };
      case 12:
        return { calls: [run('pages', 'All of them.')] };
    }
    const last = request.messages.at(-1);
    if (last?.role === 'user' && last.origin === 'nudge') return { calls: [run('rules', '')] };
    const parts = [number, reader, lead, again, merged, items, pages].filter((result) => result !== undefined);
    return { text: `total ${sum([...parts, ...besides(request)])}` };
  },
  reader: ({ task, results: [result] }) =>
    result ? { text: `answer ${numberIn(result)}` } : { calls: [call('number', { of: task })] },
  lead: ({ results }) =>
    results.length === 0
      ? { calls: [run('deep', 'd'), run('deep', 'e'), call('note', { line: 'lead' })] }
      : { text: `answer ${sum(results.slice(0, 2))}` },
  deep({ task, results }) {
    if (results.length === 0) return { calls: [run('leaf', task)] };
    if (results.length === 1) return { calls: [call('note', { line: `deep ${task}` })] };
    return { text: `answer ${sum(results.slice(0, 1)) + 1}` };
  },
  slow({ task, results }, request) {
    if (results.length === 0) return { calls: [call('number', { of: task }), run('leaf', task)] };
    if (results.length === 2) return { calls: [call('note', { line: 'slow' })] };
    if (results.length === 3) return { calls: [call('message', {})] };
    return { text: `answer ${sum(results.slice(0, 2)) + sent(request)}` };
  },
  leaf: ({ task, results: [result] }) =>
    result ? { text: `answer ${numberIn(result)}` } : { calls: [call('number', { of: task })] },
  merge({ task }) {
    const numbers = Array.from(task.matchAll(/^answer (\d+)$/gm), ([, number]) => Number(number));
    return { text: `answer ${numbers.reduce((total, one) => total + one, 0)}` };
  },
  /** What it has read so far is in the last result alone: the others may have been compacted. */
  pages({ results }) {
    const [, read = '0', total = '0'] = /page (\d+) sum (\d+)$/.exec(results.at(-1)?.content ?? '') ?? [];
    return Number(read) < PAGES ? { calls: [call('page', { page: Number(read) + 1 })] } : { text: `answer ${total}` };
  },
};

/**
 * Usage depends on nothing that a death may change: texts differ where a write was interrupted, and the
 * place where a background child is heard of with the order of things. Where the context is compacted
 * it is what the request takes, which is the same each time.
 */
const script: ScriptedFunction = (request) => {
  if (request.tools.length === 0) return { text: 'The pages were read.', usage: USAGE };
  const said = PARTS[request.skill ?? 'root']?.(turnOf(request), request) ?? { text: 'unknown skill' };
  return request.skill === 'pages' ? said : { ...said, usage: USAGE };
};

const USAGE = { input: 100, output: 10, cache_read: 50 };
