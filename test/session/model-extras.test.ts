import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { usageOf } from '../../src/cli/session/usage.ts';
import type { StoredEvent } from '../../src/core/events.ts';
import { noUsage } from '../../src/core/usage.ts';
import { type ScriptedFunction, scriptedModel } from '../../src/models/scripted.ts';
import { call, workshop } from '../runtime/workshop.ts';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

test('a call that was cut off is answered and not run', async () => {
  const shop = workshop();
  const script: ScriptedFunction = ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? { text: 'done' }
      : { calls: [call('list_files', {}), call('write_file', { path: 'a.txt', content: 'half' })] };
  const model = scriptedModel(script);
  const cutting = {
    provider: model.provider,
    generate: async (...given: Parameters<typeof model.generate>) => {
      const reply = await model.generate(...given);
      const toolCalls = reply.toolCalls.map((each) => (each.name === 'write_file' ? { ...each, isCut: true } : each));
      return { ...reply, toolCalls };
    },
  };
  const { runtime } = await shop.open(script, { model: cutting, yes: true });
  const session = await runtime.session();
  const { status } = await session.send('go').result;
  expect(status).toBe('completed');
  const results = model.requests[1]?.messages.filter(({ role }) => role === 'tool');
  expect(results).toMatchObject([
    { name: 'list_files', isError: false },
    { name: 'write_file', isError: true, content: expect.stringContaining('nothing was run') },
  ]);
  const events = await runtime.store.read(session.id);
  expect(events.some(({ type }) => type === 'tool.started')).toBe(false);
});

test('a picture goes from a file through the log to the model', async () => {
  const shop = workshop();
  writeFileSync(join(shop.cwd, 'shot.txt'), PNG);
  const { runtime, model } = await shop.open(({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? { text: 'seen' }
      : { calls: [call('read_file', { path: 'shot.txt' })] },
  );
  const session = await runtime.session();
  expect((await session.send('look').result).status).toBe('completed');
  const image = { mediaType: 'image/png', data: PNG.toString('base64') };
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({
    content: `[shot.txt: image/png, ${PNG.length} bytes]`,
    images: [image],
  });
  const again = await runtime.session({ resume: session.id });
  await again.send('and?').result;
  expect(model.requests[2]?.messages[2]).toMatchObject({ images: [image] });
});

test('usage tells what lost a cached prefix, and never calls an unknown price nothing', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  const answer = (minute: number, read: number, written: number, more: object = {}): StoredEvent =>
    ({
      type: 'assistant.message',
      text: 'x',
      toolCalls: [],
      usage: { input: read + written + 10, output: 5, cache_read: read, cache_write: written, reasoning: 0 },
      cost: 1,
      model: 'm',
      finishReason: 'stop',
      seq: minute + 1,
      at: at(minute),
      ...more,
    }) as StoredEvent;
  const events = [
    answer(0, 0, 10_000),
    answer(1, 10_000, 500),
    { type: 'context.compacted', replaced: 1, messages: [], keptSkills: [], seq: 3, at: at(2) } as StoredEvent,
    answer(2, 0, 4_000),
    answer(3, 0, 4_500, { model: 'other', fallbackFrom: 'p/m' }),
    answer(20, 0, 4_600, { model: 'other', fallbackFrom: 'p/m' }),
    answer(21, 4_600, 100, { model: 'other', fallbackFrom: 'p/m' }),
    answer(22, 0, 4_800, { model: 'other', fallbackFrom: 'p/m', cost: undefined }),
  ];
  const report = usageOf(events);
  expect(report.steps.map(({ broken_by }) => broken_by)).toEqual([
    null,
    null,
    'compaction',
    'model',
    'pause',
    null,
    'unknown',
  ]);
  expect(report.steps[1]?.hit_share).toBeCloseTo(10_000 / 10_510);
  expect(report.own.cost).toBeNull();
  expect(report.total.cost).toBeNull();
  expect(usageOf(events.slice(0, 2))).toMatchObject({ own: { cost: 2 }, children: { cost: 0 }, total: { cost: 2 } });
});

test('the usage of a fork has no steps for the answers that it took over', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const answer = (seq: number, tokens: number) => ({
    type: 'assistant.message',
    text: 'x',
    toolCalls: [],
    usage: { ...noUsage(), input: tokens, output: tokens },
    ...(tokens > 0 ? { cost: 1 } : {}),
    model: 'm',
    finishReason: 'stop',
    seq,
    at,
  });
  const start = { type: 'session.started', forkedFrom: { session: 's', seq: 2 }, seq: 1, at };
  const report = usageOf([start, answer(2, 0), answer(3, 7)] as unknown as StoredEvent[]);
  expect(report.steps.map(({ usage }) => usage.input)).toEqual([7]);
  expect(report.total).toMatchObject({ cost: 1, usage: { input: 7 } });
});
