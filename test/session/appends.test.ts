import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { SessionEvent } from '../../src/core/events.ts';
import type { SessionStore } from '../../src/store/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { defineTool, type ToolEffects } from '../../src/tools/define-tool.ts';
import { call, engine, newSession, turn } from './engine-host.ts';

/** A store that has written at once and is on the disk a while later, noting both. */
function slowDisk(log: string[], fails = (_events: readonly SessionEvent[]) => false): SessionStore {
  const memory = memoryStore();
  const types = (events: readonly SessionEvent[]) => events.map(({ type }) => type).join('+');
  return {
    append: async (session, expectedSeq, events, lease, onWritten) => {
      const stored = await memory.append(session, expectedSeq, events, lease);
      log.push(`written ${types(events)}`);
      onWritten?.(stored);
      await delay(20);
      if (fails(events)) throw new Error('the disk is gone');
      log.push(`durable ${types(events)}`);
      return stored;
    },
    read: (...values) => memory.read(...values),
    list: (...values) => memory.list(...values),
    claim: (...values) => memory.claim(...values),
    renew: (...values) => memory.renew(...values),
    release: (...values) => memory.release(...values),
    delete: (...values) => memory.delete(...values),
    close: () => memory.close(),
  };
}

const tool = (effects: ToolEffects, log: string[]) =>
  defineTool({
    name: 'act',
    description: 'act',
    input: z.object({}),
    effects,
    execute: async () => {
      log.push('acted');
      return 'done';
    },
  });

function once(effects: ToolEffects, store: SessionStore, log: string[], calls = 1) {
  const script = ({ messages }: { messages: readonly { role: string }[] }) =>
    messages.at(-1)?.role === 'tool'
      ? { text: 'end' }
      : { calls: Array.from({ length: calls }, () => call('act', {})) };
  return engine(script, [tool(effects, log)], { store });
}

it('reads without waiting for the disk; the answer is given when all of the turn is on it', async () => {
  const log: string[] = [];
  const session = await newSession(once('read', slowDisk(log), log));
  expect(log).toEqual(['written session.started', 'durable session.started']);
  await turn(session, 'go');
  expect(log.indexOf('acted')).toBeLessThan(log.indexOf('durable assistant.message'));
  expect(log.at(-1)).toBe('durable turn.ended');
  expect(log.filter((line) => line.startsWith('durable'))).toHaveLength(6);
});

it('changes nothing before the log that says so is on the disk', async () => {
  const log: string[] = [];
  await turn(await newSession(once('write', slowDisk(log), log)), 'go');
  const before = log.slice(0, log.indexOf('acted'));
  expect(before).toContain('durable assistant.message');
  expect(before).toContain('durable tool.started');
  expect(log.indexOf('durable tool.result')).toBeLessThan(log.lastIndexOf('written assistant.message'));
});

it('puts events that wait for each other into the log together, in order', async () => {
  const log: string[] = [];
  const bench = once('read', slowDisk(log), log, 5);
  const session = await newSession(bench);
  await turn(session, 'go');
  expect(log.filter((line) => line.startsWith('written tool.result')).length).toBeLessThan(5);
  const results = (await bench.store.read(session.id)).flatMap((event) =>
    event.type === 'tool.result' ? [event.call] : [],
  );
  expect(new Set(results).size).toBe(5);
});

it('fails the turn when what was written never reaches the disk', async () => {
  const log: string[] = [];
  const store = slowDisk(log, ([event]) => event?.type === 'tool.result');
  const session = await newSession(once('read', store, log));
  await expect(turn(session, 'go')).rejects.toThrow('the disk is gone');
  expect(log.some((line) => line.startsWith('written turn.ended'))).toBe(false);
});
