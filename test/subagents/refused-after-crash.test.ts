import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ReasonixError } from '../../src/core/errors.ts';
import type { SessionEvent } from '../../src/core/events.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { Thread } from '../../src/session/thread.ts';
import type { SessionStore } from '../../src/store/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { call, type Workshop, workshop } from '../runtime/workshop.ts';

const lastText = ({ messages }: ModelRequest) => (messages.at(-1) as { content: string }).content;

/** A root whose call runs `lead`, which runs `dig` twice before it answers. */
const script = (input: Record<string, unknown>) => (request: ModelRequest) => {
  const hasResult = request.messages.some(({ role }) => role === 'tool');
  if (hasResult) return lastText(request);
  if (request.skill === 'dig') return `dug ${lastText(request)}`;
  const input_ = request.skill ? { name: 'dig', arguments: 'deep' } : { name: 'lead', ...input };
  return { text: `asked by ${request.skill ?? 'root'}`, calls: [call('run_skill', input_)] };
};

/** Runs it to the end, and gives a store in which it was cut with a dig at work below each lead. */
async function cut(shop: Workshop, input: Record<string, unknown>) {
  shop.skill('lead', { runAs: 'subagent' }, 'You lead.');
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  const { runtime } = await shop.open(script(input));
  const session = await runtime.session();
  const { subagents } = await session.send('go').result;
  const store = memoryStore();
  for (const id of [session.id, ...subagents.map(({ ref }) => ref)]) {
    const events = (await runtime.store.read(id)).map(({ seq: _seq, at: _at, ...event }) => event as SessionEvent);
    const asked = events.findIndex(({ type }) => type === 'tool.started' || type === 'assistant.message');
    await store.append(id, 0, events.slice(0, events[asked + 1]?.type === 'tool.started' ? asked + 2 : asked));
  }
  return { store, session: session.id, children: subagents };
}

const openIn = async (store: SessionStore) =>
  (await store.list({})).sessions.filter(({ status }) => status === 'open' || status === 'idle').length;

const LATER: [string, Record<string, unknown>, (shop: Workshop) => string[], RegExp][] = [
  ['skill was disabled', { arguments: 'x' }, () => ['skills.disabled_skills=lead'], /"lead" is disabled/],
  [
    'skill was deleted',
    { arguments: 'x' },
    (shop) => {
      rmSync(join(shop.cwd, '.reasonix/skills/lead'), { recursive: true });
      return [];
    },
    /no skill "lead"/,
  ],
  ['rules refuse', { arguments: 'x' }, () => ['permissions.deny=run_skill(lead)'], /a deny rule forbids it/],
  ['items are of a skill that was disabled', { items: ['x', 'y'] }, () => ['skills.disabled_skills=lead'], /disabled/],
];

describe('a call whose child was cut', () => {
  it.each(LATER)(
    'gets what the child has when its %s meanwhile; all below it end, and are paid for',
    async (_, input, change, why) => {
      const shop = workshop();
      const { store, session, children } = await cut(shop, input);
      expect(await openIn(store)).toBe(children.length + 1);
      const { runtime } = await shop.open(script(input), { store, overrides: change(shop) });
      const { answer, status } = await (await runtime.session({ resume: session })).resume().result;
      expect(status).toBe('completed');
      const leads = children.filter(({ depth }) => depth === 1).map(({ ref }) => ref);
      for (const ref of leads) expect(answer).toContain(`Subagent reference: ${ref}\nStatus: cancelled`);
      expect(answer).toMatch(why);
      expect(answer).toContain('asked by lead');
      expect(await openIn(store)).toBe(0);
      const paid = Thread.fold(session, await store.read(session)).childUsage;
      const logs = await Promise.all(children.map(async ({ ref }) => Thread.fold(ref, await store.read(ref))));
      expect(paid.input).toBe(logs.reduce((sum, { usage }) => sum + usage.input, 0));
      expect(paid.input).toBeGreaterThan(0);
    },
  );

  it('stays open with its child when somebody else goes on with that one', async () => {
    const shop = workshop();
    const { store, session, children } = await cut(shop, { arguments: 'x' });
    const lead = children.find(({ depth }) => depth === 1)?.ref ?? '';
    const before = await store.read(lead);
    const { claim } = store;
    let isBusy = true;
    store.claim = (id, ...rest) => {
      if (id !== lead || !isBusy) return claim.call(store, id, ...rest);
      // Held by somebody for this one moment.
      isBusy = false;
      return Promise.reject(new ReasonixError('session_busy', `session ${id} is being run by somebody else`));
    };
    const { runtime } = await shop.open(script({ arguments: 'x' }), { store });
    const run = (await runtime.session({ resume: session })).resume().result;
    await expect(run).rejects.toMatchObject({ code: 'session_busy' });
    expect(await store.read(lead)).toEqual(before);
    expect(await openIn(store)).toBe(children.length + 1);
  });

  it('gets its result when it had ended before the crash', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const ask = (request: ModelRequest) => {
      if (request.skill) return 'dug';
      const results = request.messages.some(({ role }) => role === 'tool');
      return results ? lastText(request) : { calls: [call('run_skill', { name: 'dig', arguments: 'x' })] };
    };
    const whole = await shop.open(ask);
    const first = await (await whole.runtime.session()).send('go').result;
    const store = memoryStore();
    for (const id of [first.session, ...first.subagents.map(({ ref }) => ref)]) {
      const events = (await whole.runtime.store.read(id)).map(({ seq: _s, at: _a, ...event }) => event as SessionEvent);
      const end = id === first.session ? events.findIndex(({ type }) => type === 'tool.started') + 1 : events.length;
      await store.append(id, 0, events.slice(0, end));
    }
    const { runtime } = await shop.open(ask, { store, overrides: ['skills.disabled_skills=dig'] });
    const again = await (await runtime.session({ resume: first.session })).resume().result;
    expect(again.answer).toMatch(/Status: completed[\s\S]*\n\ndug$/);
    const { childUsage } = Thread.fold(first.session, await store.read(first.session));
    expect(childUsage.input).toBe(first.usage.total.input - first.usage.own.input);
    expect(childUsage.input).toBeGreaterThan(0);
  });
});
