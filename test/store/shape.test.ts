import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventSchema } from '../../src/core/events.ts';
import { compileCheck } from '../../src/store/shape.ts';
import { ended, newLog, said, user } from './samples.ts';

const usage = { input: 1, output: 2, cache_read: 0, cache_write: 0, reasoning: 0 };
const limit = { which: 'steps', limit: 3, setBy: 'user' };
const from = { session: 's_1', call: 'call_1' };

/** Every type of event, with all that it may carry. */
const EVENTS: unknown[] = [
  newLog({
    parent: from,
    skill: { name: 'a', hash: 'b', path: 'c' },
    forkedFrom: { session: 's', seq: 1 },
    outputSchema: { type: 'object' },
    permissions: { grants: [['a'], []], deny: ['b'], readOnly: true },
    required: ['x'],
    budget: { steps: 1, cost: 0.5 },
  }).first,
  { ...user('x'), from, limit, terms: { limits: { steps: 1 }, setBy: { steps: 'a' }, above: [], yes: true } },
  { type: 'turn.cancelling', reason: 'x' },
  { ...said('x'), reasoning: 'r', toolCalls: [{ id: 'a', name: 'b', arguments: '{}' }], providerState: [1], cost: 0.1 },
  { type: 'tool.started', call: 'a', name: 'b', effects: 'write' },
  { type: 'tool.result', call: 'a', name: 'b', content: 'c', isError: false, child: 'sa_1', full: 'd' },
  { type: 'skill.loaded', name: 'a', hash: 'b', via: 'inject' },
  { type: 'required.nudged', names: ['a'], count: 1 },
  { type: 'skill.switched', name: 'a', enabled: false },
  { type: 'skills.changed', added: ['a'], removed: [], changed: [], fingerprint: 'f' },
  { type: 'tools.changed', added: ['a'], removed: ['b'] },
  { type: 'subagent.started', call: 'a', child: 'sa_1', skill: 'b', background: true },
  { type: 'subagent.ended', call: 'a', child: 'sa_1', status: 'completed' },
  { type: 'message.received', from, content: 'c' },
  { type: 'worktree.started', folder: 'f', cwd: 'w', caller: 'c', repository: 'r', common: 'o', head: 'h', base: 'b' },
  { type: 'worktree.diff', files: 1, stat: 's', bytes: 2, hash: 'h', diff: 'd' },
  { type: 'worktree.closed', how: 'applied' },
  {
    type: 'context.compacted',
    replaced: 2,
    messages: [{ role: 'user', origin: 'task', content: 'c' }],
    keptSkills: [{ name: 'a', hash: 'b' }],
    reduced: [{ call: 'a', content: 'b' }],
    reason: 'window',
    before: 2,
    after: 1,
    usage,
    cost: 0.1,
    model: 'm',
  },
  { ...ended('limit'), reason: 'r', limit },
  { type: 'usage', call: 'a', child: 'sa_1', usage, cost: 1, steps: 1, spawns: 0 },
];

const isEvent = compileCheck(eventSchema);
const accordingToZod = (value: unknown) => eventSchema.safeParse(value).success;

/** `event` with the value at one of its paths replaced or removed. */
function mutate(event: unknown, path: readonly number[], value: unknown): unknown {
  if (typeof event !== 'object' || event === null || path.length === 0) return value;
  const entries = Object.entries(event);
  const [index = 0, ...rest] = path;
  const [key, inner] = entries[index % (entries.length || 1)] ?? ['extra', undefined];
  const copy = (Array.isArray(event) ? [...event] : { ...event }) as Record<string, unknown>;
  copy[key] = mutate(inner, rest, value);
  return JSON.parse(JSON.stringify(copy));
}

describe('the check of events', () => {
  test('accepts every type of event, and there is no other', () => {
    for (const event of EVENTS) expect([event, isEvent(event)]).toEqual([event, true]);
    expect(EVENTS).toHaveLength(eventSchema.options.length);
    expect(new Set(EVENTS.map((event) => (event as { type: string }).type)).size).toBe(EVENTS.length);
  });

  test('agrees with zod about anything', () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(undefined, null, {}, [], 0, '', 'user', true, [''], { a: 1 }),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...EVENTS),
        fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }),
        value,
        (event, path, put) => {
          const mutated = mutate(event, path, put);
          expect(isEvent(mutated)).toBe(accordingToZod(mutated));
        },
      ),
      { numRuns: 3000 },
    );
    fc.assert(
      fc.property(fc.jsonValue(), (any) => {
        expect(isEvent(any)).toBe(accordingToZod(any));
      }),
    );
  });

  test('the exact one accepts only what zod leaves as it is', () => {
    const isExact = compileCheck(eventSchema, true);
    for (const event of EVENTS) expect([event, isExact(event)]).toEqual([event, true]);
    const put = fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.constantFrom({}, [], 'a', { a: { b: 1 } }));
    fc.assert(
      fc.property(fc.constantFrom(...EVENTS), fc.array(fc.nat(12), { maxLength: 4 }), put, (event, path, value) => {
        const mutated = mutate(event, path, value);
        const parsed = eventSchema.safeParse(mutated);
        expect(isExact(mutated)).toBe(parsed.success && isDeepStrictEqual(parsed.data, mutated));
      }),
      { numRuns: 2000 },
    );
  });

  test('the exact one refuses keys that are unknown, at any depth, holes and objects of a class', () => {
    const isExact = compileCheck(eventSchema, true);
    const nudged = { type: 'required.nudged', names: ['a'], count: 1 };
    const { first } = newLog();
    const withParameters = (parameters: unknown) => ({ ...first, tools: [{ name: 'a', description: '', parameters }] });
    expect(isExact(nudged)).toBe(true);
    expect(isExact(withParameters({ a: 1 }))).toBe(true);
    expect(isExact(withParameters(new Map()))).toBe(false);
    expect(isExact(withParameters(new Date()))).toBe(false);
    expect(isExact({ ...nudged, extra: 1 })).toBe(false);
    expect(isExact({ ...said('x'), usage: { ...usage, extra: 1 } })).toBe(false);
    // biome-ignore lint/suspicious/noSparseArray: it is what must not be taken
    expect(isExact({ ...nudged, names: ['a', , 'b'] })).toBe(false);
    expect(isExact(Object.assign(Object.create({ inherited: 1 }), nudged))).toBe(false);
  });

  test('a number too large for JSON is none', () => {
    const event = JSON.parse('{"type":"required.nudged","names":[],"count":1e999}');
    expect([isEvent(event), accordingToZod(event)]).toEqual([false, false]);
  });
});

test('what it does not know it leaves to zod', () => {
  const schema = z.object({ a: z.string().min(2), b: z.union([z.number(), z.null()]), c: z.iso.date().optional() });
  const check = compileCheck(schema);
  for (const value of [
    { a: 'ab', b: 1 },
    { a: 'a', b: 1 },
    { a: 'ab', b: null },
    { a: 'ab' },
    { a: 'ab', b: 1, c: 'x' },
  ]) {
    expect(check(value)).toBe(schema.safeParse(value).success);
  }
});
