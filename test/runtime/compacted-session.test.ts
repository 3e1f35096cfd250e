import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contextOf } from '../../src/cli/session/context.ts';
import { contextLines } from '../../src/cli/session/context-lines.ts';
import { usageOf } from '../../src/cli/session/usage.ts';
import { usageLines } from '../../src/cli/session/usage-lines.ts';
import { loadConfig } from '../../src/config/cascade.ts';
import { costOf } from '../../src/core/usage.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { windowOf } from '../../src/models/windows.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { Thread } from '../../src/session/thread.ts';
import { bulky, compactionsIn, isSummary } from '../middleware/compaction-bench.ts';
import { call, workshop } from './workshop.ts';

/** Says much and does little, so that leaving out results is not enough. */
function talkative() {
  let step = 0;
  return scriptedModel((request) => {
    if (isSummary(request)) return 'SUMMARY of what was done.';
    if (++step >= 40) return 'done';
    return { text: 'Some thoughts about it. '.repeat(40), calls: [call('bulky', { size: 300 })] };
  });
}

const look = { columns: undefined, paint: (_: unknown, text: string) => text };

test('a session that was compacted: hooks were told, its usage and its context are shown as they are', async () => {
  const shop = workshop();
  const log = join(shop.cwd, 'log.txt');
  const hook = shop.write(
    'hook.cjs',
    `const given = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
     require('node:fs').appendFileSync(${JSON.stringify(log)}, [given.session, given.moment, given.before, given.after].join(' ') + '\\n');`,
  );
  const price = { input: 2, output: 8 };
  shop.write(
    'reasonix.toml',
    `[[providers]]
name = "demo"
kind = "scripted"
models = ["m"]
script = "none.yaml"
context_window = 12000
max_output_tokens = 2000
[providers.prices.m]
input = 2
output = 8
[[hooks]]
name = "told"
on = ["compaction"]
command = ${JSON.stringify(`"${process.execPath}" "${hook}"`)}
`,
  );
  const options = { cwd: shop.cwd, home: shop.home, env: {} };
  const config = await loadConfig(options);
  const [settings] = config.config.providers;
  if (!settings) throw new Error('no provider');
  const resolved = { client: talkative(), provider: 'demo', model: 'm', ...windowOf(settings, 'm'), price };
  const models = { resolve: async () => resolved };
  const runtime = await openRuntime({ ...options, models, tools: [bulky], trustProject: true });
  try {
    const session = await runtime.session();
    expect(await session.send('the task').result).toMatchObject({ status: 'completed' });
    const events = await runtime.store.read(session.id);
    const compactions = compactionsIn(events);
    expect(compactions.filter(({ usage }) => usage !== undefined).length).toBeGreaterThan(1);

    // Hooks that are only told run beside the session.
    const told = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').sort() : []);
    const expected = compactions.map(({ before, after }) => `${session.id} compaction ${before} ${after}`).sort();
    await expect.poll(told, { timeout: 20_000 }).toEqual(expected);

    const report = usageOf(events);
    const answers = events.flatMap((event) => (event.type === 'assistant.message' ? [event.usage] : []));
    const summaries = compactions.flatMap(({ usage }) => (usage ? [usage] : []));
    const all = [...answers, ...summaries];
    expect(report.steps).toHaveLength(answers.length);
    expect(report.own.usage.input).toBe(all.reduce((sum, { input }) => sum + input, 0));
    expect(report.own.usage.output).toBe(all.reduce((sum, { output }) => sum + output, 0));
    expect(report.own.cost).toBeCloseTo(all.reduce((sum, usage) => sum + (costOf(usage, price) ?? 0), 0));
    expect(report.total).toEqual(report.own);
    expect(usageLines(report, { ...look, isFull: true }).join('\n')).toContain(`${answers.length} steps`);

    const thread = Thread.fold(session.id, events);
    const context = contextOf(thread, events, config);
    expect(context).toMatchObject({
      window: 12_000,
      answer_tokens: 2_000,
      compact_at: 0.8,
      tokens: thread.size.tokens,
    });
    // The window less the answer is never passed, and compaction happened before it was full.
    expect(Math.max(...answers.map(({ input }) => input))).toBeLessThan(10_000);
    expect(context.share).toBeCloseTo(context.tokens / 10_000, 3);
    expect(context.messages.map(({ content }) => content)).toEqual(
      thread.history().map((message) => (message.role === 'assistant' ? message.text : message.content)),
    );
    expect(context.messages[0]).toMatchObject({ role: 'user', content: 'the task' });
    expect(context.messages[1]?.content).toContain('SUMMARY of what was done.');
    expect(context.compactions.map(({ before, after, model }) => [before, after, model])).toEqual(
      compactions.map(({ before, after, model }) => [before, after, model ?? null]),
    );
    const [first, ...others] = contextLines(context, look);
    expect(first).toMatch(/^[\d,]+ of 12,000 tokens, 2,000 of them for the answer \(\d+%, by its provider\); /);
    expect(others.filter((line) => / summed up by m/.test(line))).toHaveLength(summaries.length);
  } finally {
    await runtime.close();
  }
}, 60_000);
