import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SessionEvent, StoredEvent } from '../../src/core/events.ts';
import { newSessionId } from '../../src/core/ids.ts';
import { blobHash } from '../../src/store/blobs.ts';
import {
  type BlobStore,
  canFollow,
  hasBlobs,
  type Page,
  type SessionStore,
  type SessionSummary,
} from '../../src/store/contract.ts';
import { processOwner } from '../../src/store/owner.ts';
import { ended, newLog, said, user } from './samples.ts';

/** A store that nobody has used before, and how to get rid of it. */
export interface OpenedStore {
  store: SessionStore;
  dispose(): Promise<void>;
}

/** An owner on another machine, whose life nobody here can judge. */
const stranger = (name: string) => `far-away:4711:0:${name}`;

/** What every implementation of `SessionStore` must do. */
export function describeStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(name, () => {
    let opened: OpenedStore;
    let store: SessionStore;

    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.dispose());

    const refusal = (code: string) => expect.objectContaining({ name: 'ReasonixError', code });

    describe('append and read', () => {
      test('numbers events from 1 and reads back what append returned', async () => {
        const { session, first } = newLog();
        const before = new Date().toISOString();
        const a = await store.append(session, 0, [first, user('hello')]);
        const b = await store.append(session, 2, [said('hi')]);
        expect([...a, ...b].map((event) => event.seq)).toEqual([1, 2, 3]);
        expect(a[0]?.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        expect(a[0]!.at >= before && a[0]!.at <= new Date().toISOString()).toBe(true);
        expect(await store.read(session)).toStrictEqual([...a, ...b]);
      });

      test('reads from a position', async () => {
        const { session, first } = newLog();
        const all = await store.append(session, 0, [first, user('a'), said('b'), ended()]);
        expect(await store.read(session, 2)).toEqual(all.slice(2));
        expect(await store.read(session, 4)).toEqual([]);
        expect(await store.read(session, 99)).toEqual([]);
      });

      test('an unknown session has no events', async () => {
        expect(await store.read('s_unknown')).toEqual([]);
      });

      test('an append of nothing changes nothing', async () => {
        const { session, first } = newLog();
        expect(await store.append(session, 0, [])).toEqual([]);
        expect((await store.list()).sessions).toEqual([]);
        await store.append(session, 0, [first]);
        expect(await store.append(session, 1, [])).toEqual([]);
        await expect(store.append(session, 0, [])).rejects.toEqual(refusal('session_busy'));
      });

      test('what the caller does with the events afterwards does not reach the log', async () => {
        const { session, first } = newLog();
        const event = user('as written');
        const appended = await store.append(session, 0, [first, event]);
        Object.assign(event, { content: 'changed' });
        Object.assign(appended[1]!, { content: 'changed' });
        expect((await store.read(session))[1]).toMatchObject({ content: 'as written' });
      });

      test('what is not JSON comes back from append as it will be read', async () => {
        const { session, first } = newLog({ parent: undefined });
        const message = { ...said('x'), providerState: { at: new Date(0), none: undefined, list: [undefined] } };
        const appended = await store.append(session, 0, [first, message as SessionEvent]);
        expect(appended[1]).toMatchObject({ providerState: { at: '1970-01-01T00:00:00.000Z', list: [null] } });
        expect(await store.read(session)).toStrictEqual(appended);
      });

      test('events that were read can be written to another log', async () => {
        const a = newLog();
        const b = newLog();
        const history = await store.append(a.session, 0, [a.first, user('x'), said('y')]);
        await store.append(b.session, 0, [b.first, ...history.slice(1)]);
        const copy = await store.read(b.session);
        expect(copy.map((event) => event.seq)).toEqual([1, 2, 3]);
        expect(copy[2]).toMatchObject({ type: 'assistant.message', text: 'y' });
      });

      test('the loser of two appends at the same position is told, and nothing of it is written', async () => {
        const { session, first } = newLog();
        await store.append(session, 0, [first]);
        const results = await Promise.allSettled([
          store.append(session, 1, [user('one'), said('one')]),
          store.append(session, 1, [user('two'), said('two')]),
        ]);
        expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
        const lost = results.find((result) => result.status === 'rejected');
        expect(lost?.reason).toMatchObject({ code: 'session_busy', details: { session, expectedSeq: 1, lastSeq: 3 } });
        expect(await store.read(session)).toHaveLength(3);
      });

      test('a second beginning is refused', async () => {
        const { session, first } = newLog();
        await store.append(session, 0, [first]);
        await expect(store.append(session, 0, [first])).rejects.toEqual(refusal('session_busy'));
      });

      test('an append beyond the end is refused', async () => {
        const { session, first } = newLog();
        await store.append(session, 0, [first]);
        await expect(store.append(session, 5, [user('x')])).rejects.toEqual(refusal('session_busy'));
        await expect(store.append('s_gone', 5, [user('x')])).rejects.toEqual(refusal('session_not_found'));
      });

      test('one invalid event keeps all of its append out, and the message names it', async () => {
        const { session, first } = newLog();
        await store.append(session, 0, [first]);
        const wrong = { type: 'user.message', origin: 'nobody', content: 7 } as unknown as SessionEvent;
        const refused = store.append(session, 1, [user('fine'), wrong]);
        await expect(refused).rejects.toMatchObject({ code: 'session_invalid', details: { session, seq: 3 } });
        await expect(refused).rejects.toThrow(/event 3 \(user\.message\).*origin.*content/);
        expect(await store.read(session)).toHaveLength(1);
      });

      test('state that is no JSON is refused', async () => {
        const { session, first } = newLog();
        const circular: Record<string, unknown> = {};
        circular.self = circular;
        for (const providerState of [circular, { big: 1n }]) {
          const message = { ...said('x'), providerState } as SessionEvent;
          await expect(store.append(session, 0, [first, message])).rejects.toEqual(refusal('session_invalid'));
        }
        expect(await store.read(session)).toEqual([]);
      });

      test('a log begins with its own session.started', async () => {
        const { session } = newLog();
        await expect(store.append(session, 0, [user('x')])).rejects.toEqual(refusal('session_invalid'));
        await expect(store.append(session, 0, [newLog().first])).rejects.toEqual(refusal('session_invalid'));
        await expect(store.append(session, -1, [user('x')])).rejects.toEqual(refusal('usage'));
      });

      test('any text survives', async () => {
        const { session, first } = newLog({ cwd: '/tmp/ünï cödé/日本' });
        const texts = [
          '',
          '\0',
          'a\u0000b',
          '👩‍👩‍👧‍👦',
          '\ud800 alone',
          'e\u0301',
          '\u2028\r\n',
          "'; drop table events; --",
          '\ufeffbom',
        ];
        await store.append(session, 0, [first, ...texts.map(user)]);
        const read = await store.read(session);
        expect(read.slice(1).map((event) => (event as { content: string }).content)).toEqual(texts);
      });

      test('an event of 5 MB survives', async () => {
        const { session, first } = newLog();
        const content = 'ein Stück Text 🙂\n'.repeat(280_000);
        await store.append(session, 0, [first, user(content)]);
        const event = (await store.read(session))[1] as { content: string };
        expect(event.content.length).toBe(content.length);
        expect(event.content === content).toBe(true);
      });

      test('50 sessions append 20 times in parallel without loss', async () => {
        const logs = Array.from({ length: 50 }, () => newLog());
        await Promise.all(
          logs.map(async ({ session, first }, index) => {
            await store.append(session, 0, [first]);
            for (let seq = 1; seq <= 20; seq++) await store.append(session, seq, [user(`${index}:${seq}`)]);
          }),
        );
        for (const [index, { session }] of logs.entries()) {
          const events = await store.read(session);
          expect(events.map((event) => event.seq)).toEqual(Array.from({ length: 21 }, (_, n) => n + 1));
          expect(events[20]).toMatchObject({ content: `${index}:20` });
        }
      });

      test('appends of one session that are asked for at once keep their order', async () => {
        const { session, first } = newLog();
        const texts = Array.from({ length: 30 }, (_, n) => `m${n}`);
        await Promise.all([
          store.append(session, 0, [first]),
          ...texts.map((text, n) => store.append(session, n + 1, [user(text)])),
        ]);
        const events = await store.read(session);
        expect(events.slice(1).map((event) => (event as { content: string }).content)).toEqual(texts);
      });

      test('a failing append does not fail those beside it', async () => {
        const [a, b, c] = [newLog(), newLog(), newLog()];
        const results = await Promise.allSettled([
          store.append(a.session, 0, [a.first]),
          store.append(b.session, 7, [user('too far')]),
          store.append(c.session, 0, [c.first, user('fine')]),
        ]);
        expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
        expect(await store.read(c.session)).toHaveLength(2);
      });

      test('random appends fold to what a plain list would hold', async () => {
        await fc.assert(
          fc.asyncProperty(
            fc.array(
              fc.record({
                log: fc.nat(3),
                off: fc.constantFrom(0, 0, 0, 0, -1, 1),
                texts: fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { minLength: 1, maxLength: 4 }),
                wait: fc.boolean(),
              }),
              { maxLength: 40 },
            ),
            async (steps) => {
              const logs = Array.from({ length: 4 }, () => ({ ...newLog(), model: [] as string[] }));
              await Promise.all(logs.map(({ session, first }) => store.append(session, 0, [first])));
              const pending: Promise<void>[] = [];
              for (const { log, off, texts, wait } of steps) {
                const { session, model } = logs[log]!;
                const expected = model.length + 1 + off;
                if (expected === 0) continue;
                const appended = store.append(session, expected, texts.map(user));
                if (off === 0) {
                  model.push(...texts);
                  pending.push(appended.then(() => {}));
                } else {
                  pending.push(
                    appended.then(
                      () => expect.unreachable(),
                      (error) => expect(error).toEqual(refusal('session_busy')),
                    ),
                  );
                }
                if (wait) await Promise.all(pending);
              }
              await Promise.all(pending);
              for (const { session, model } of logs) {
                const events = await store.read(session);
                expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
                expect(events.slice(1).map((event) => (event as { content: string }).content)).toEqual(model);
                const { sessions } = await store.list({ idPrefix: session });
                expect(sessions[0]?.lastSeq).toBe(model.length + 1);
              }
            },
          ),
          { numRuns: 25 },
        );
      });
    });

    describe('list', () => {
      const ids = (page: { sessions: SessionSummary[] }) => page.sessions.map(({ session }) => session);

      test('shows what a session is about and how it stands', async () => {
        const { session, first } = newLog({ cwd: '/a', depth: 0 });
        const [a] = await store.append(session, 0, [first]);
        const only = async () => (await store.list()).sessions[0]!;
        expect(await only()).toMatchObject({
          session,
          kind: 'root',
          root: session,
          title: '',
          cwd: '/a',
          model: 'test-model',
          depth: 0,
          createdAt: a!.at,
          updatedAt: a!.at,
          lastSeq: 1,
          status: 'idle',
        });
        await store.append(session, 1, [user('\n  First\tline  \nsecond line')]);
        expect(await only()).toMatchObject({ title: 'First line', status: 'open', lastSeq: 2 });
        const [, last] = await store.append(session, 2, [said('x'), ended('limit')]);
        expect(await only()).toMatchObject({ status: 'limit', updatedAt: last!.at, lastSeq: 4 });
        await store.append(session, 4, [{ type: 'user.message', origin: 'notice', content: 'by the way' }]);
        expect(await only()).toMatchObject({ status: 'limit', title: 'First line' });
        await store.append(session, 5, [user('again')]);
        expect(await only()).toMatchObject({ status: 'open', title: 'First line' });
        await store.append(session, 6, [ended()]);
        expect(await only()).toMatchObject({ status: 'completed' });
      });

      test('a title has at most 120 graphemes', async () => {
        const { session, first } = newLog();
        await store.append(session, 0, [first, user('👩‍👩‍👧‍👦'.repeat(500))]);
        const { title } = (await store.list()).sessions[0]!;
        expect([...new Intl.Segmenter().segment(title)]).toHaveLength(120);
        expect(title.endsWith('👦…')).toBe(true);
      });

      test('filters by kind, root, parent, call, folder and start of the id, alone and together', async () => {
        const root = newLog({ cwd: '/a' });
        const other = newLog({ cwd: '/b' });
        const child = async (parent: string, call: string, depth: number) => {
          const session = `sa_${newSessionId().slice(2)}`;
          const skill = { name: 'research', hash: 'h', path: '/skills/research.md' };
          const log = newLog({
            session,
            kind: 'child',
            root: root.session,
            parent: { session: parent, call },
            depth,
            skill,
            cwd: '/a',
          });
          await store.append(session, 0, [{ ...log.first, session } as SessionEvent]);
          return session;
        };
        await store.append(root.session, 0, [root.first]);
        await store.append(other.session, 0, [other.first]);
        const one = await child(root.session, 'call_1', 1);
        const two = await child(root.session, 'call_2', 1);
        const below = await child(one, 'call_1', 2);

        const oldest = { order: 'oldest' } as const;
        expect(ids(await store.list({ kind: 'root' }, oldest))).toEqual([root.session, other.session]);
        expect(ids(await store.list({ kind: 'child' }, oldest))).toEqual([one, two, below]);
        expect(ids(await store.list({ root: root.session }, oldest))).toEqual([root.session, one, two, below]);
        expect(ids(await store.list({ parent: { session: root.session } }, oldest))).toEqual([one, two]);
        expect(ids(await store.list({ parent: { session: root.session, call: 'call_2' } }))).toEqual([two]);
        expect(ids(await store.list({ parent: { session: one } }))).toEqual([below]);
        expect(ids(await store.list({ cwd: '/b' }))).toEqual([other.session]);
        expect(ids(await store.list({ cwd: '/' }))).toEqual([]);
        expect(ids(await store.list({ idPrefix: 'sa_' }, oldest))).toEqual([one, two, below]);
        expect(ids(await store.list({ idPrefix: root.session.slice(0, -1) })).includes(root.session)).toBe(true);
        expect(ids(await store.list({ idPrefix: 's%' }))).toEqual([]);
        expect(ids(await store.list({ open: true }))).toEqual([]);
        const begun = { type: 'user.message', origin: 'task', content: 'Look' } as const;
        const end = { type: 'turn.ended', status: 'completed', answer: 'Done' } as const;
        await store.append(two, 1, [begun]);
        await store.append(below, 1, [begun]);
        expect(ids(await store.list({ open: true }, oldest))).toEqual([two, below]);
        expect(ids(await store.list({ open: true, parent: { session: one } }))).toEqual([below]);
        await store.append(two, 2, [end]);
        expect(ids(await store.list({ open: true }))).toEqual([below]);
        expect(ids(await store.list({ kind: 'root', cwd: '/a' }))).toEqual([root.session]);
        expect((await store.list({ idPrefix: below })).sessions[0]).toMatchObject({
          kind: 'child',
          parent: { session: one, call: 'call_1' },
          skill: 'research',
          depth: 2,
        });
      });

      test('pages through everything once, in both orders', async () => {
        const logs = Array.from({ length: 25 }, () => newLog());
        for (const { session, first } of logs) await store.append(session, 0, [first]);
        const all = logs.map(({ session }) => session);
        for (const [order, expected] of [
          ['oldest', all],
          ['newest', all.toReversed()],
        ] as const) {
          const seen: string[] = [];
          const sizes: number[] = [];
          let page: Page = { limit: 10, order };
          for (;;) {
            const result = await store.list({ kind: 'root' }, page);
            seen.push(...ids(result));
            sizes.push(result.sessions.length);
            if (result.next === undefined) break;
            page = { ...page, cursor: result.next };
          }
          expect(seen).toEqual(expected);
          expect(sizes).toEqual([10, 10, 5]);
        }
        expect((await store.list({}, { limit: 25 })).next).toBeUndefined();
        expect(ids(await store.list())).toEqual(all.toReversed());
      });

      test('orders by the last event when asked to', async () => {
        const [a, b, c] = [newLog(), newLog(), newLog()];
        for (const { session, first } of [a, b, c]) {
          await store.append(session, 0, [first]);
          await nextMillisecond();
        }
        await store.append(a.session, 1, [user('still here')]);
        expect(ids(await store.list())).toEqual([c.session, b.session, a.session]);
        expect(ids(await store.list({}, { by: 'updated' }))).toEqual([a.session, c.session, b.session]);
        const first = await store.list({ kind: 'root' }, { by: 'updated', limit: 1 });
        expect(ids(first)).toEqual([a.session]);
        const second = await store.list({ kind: 'root' }, { by: 'updated', limit: 2, cursor: first.next });
        expect(ids(second)).toEqual([c.session, b.session]);
        expect(second.next).toBeUndefined();
      });

      test('refuses a page that makes no sense', async () => {
        const page = async (options: Page) => store.list({}, options);
        for (const limit of [0, 1001, 1.5, Number.NaN]) await expect(page({ limit })).rejects.toEqual(refusal('usage'));
        await expect(page({ cursor: 'nonsense' })).rejects.toEqual(refusal('usage'));
        for (const { session, first } of [newLog(), newLog()]) await store.append(session, 0, [first]);
        const { next } = await page({ limit: 1 });
        await expect(page({ limit: 1, order: 'oldest', cursor: next })).rejects.toEqual(refusal('usage'));
      });
    });

    describe('leases', () => {
      test('one owner at a time; the other is told who', async () => {
        const lease = await store.claim('s_one', stranger('a'));
        expect(lease).toEqual({ session: 's_one', owner: stranger('a'), epoch: 1 });
        const refused = store.claim('s_one', stranger('b'));
        await expect(refused).rejects.toMatchObject({
          code: 'session_busy',
          details: { session: 's_one', holder: stranger('a'), host: 'far-away', pid: 4711 },
        });
        await expect(refused).rejects.toThrow(/process 4711 on far-away/);
        await store.claim('s_two', stranger('b'));
      });

      test('the epoch rises with every change of hands and with nothing else', async () => {
        const a = await store.claim('s_one', stranger('a'));
        expect((await store.claim('s_one', stranger('a'))).epoch).toBe(1);
        await store.renew(a);
        await store.release(a);
        const b = await store.claim('s_one', stranger('b'));
        expect(b.epoch).toBe(2);
        await store.release(b);
        expect((await store.claim('s_one', stranger('a'))).epoch).toBe(3);
      });

      test('an expired lease can be taken, and its owner is refused from then on', async () => {
        const { session, first } = newLog();
        const a = await store.claim(session, stranger('a'), 20);
        await store.append(session, 0, [first], a);
        await delay(30);
        await store.append(session, 1, [user('late, but nobody took it')], a);
        const b = await store.claim(session, stranger('b'));
        expect(b.epoch).toBe(a.epoch + 1);
        await expect(store.append(session, 2, [user('x')], a)).rejects.toMatchObject({
          code: 'stale_writer',
          details: { session, holder: stranger('b'), epoch: 1 },
        });
        await expect(store.renew(a)).rejects.toEqual(refusal('stale_writer'));
        await store.release(a);
        await expect(store.claim(session, stranger('c'))).rejects.toEqual(refusal('session_busy'));
        await store.append(session, 2, [user('y')], b);
        expect(await store.read(session)).toHaveLength(3);
      });

      test('an owner that lost its lease and took it again cannot use the old one', async () => {
        const { session, first } = newLog();
        const old = await store.claim(session, stranger('a'));
        await store.release(old);
        await store.release(await store.claim(session, stranger('b')));
        const now = await store.claim(session, stranger('a'));
        await expect(store.append(session, 0, [first], old)).rejects.toEqual(refusal('stale_writer'));
        await store.append(session, 0, [first], now);
      });

      test('a renewed lease holds for longer', async () => {
        const lease = await store.claim('s_one', stranger('a'), 20);
        await store.renew(lease, 60_000);
        await delay(30);
        await expect(store.claim('s_one', stranger('b'))).rejects.toEqual(refusal('session_busy'));
      });

      test('a released lease is free at once and of no more use', async () => {
        const { session, first } = newLog();
        const lease = await store.claim(session, stranger('a'));
        await store.release(lease);
        await store.release(lease);
        await expect(store.renew(lease)).rejects.toEqual(refusal('stale_writer'));
        await expect(store.append(session, 0, [first], lease)).rejects.toEqual(refusal('stale_writer'));
        await store.append(session, 0, [first]);
      });

      test('a lease of one session is none for another', async () => {
        const { session, first } = newLog();
        const lease = await store.claim('s_other', stranger('a'));
        await expect(store.append(session, 0, [first], lease)).rejects.toEqual(refusal('stale_writer'));
      });

      test('without the lease nobody appends while another has it; everybody reads', async () => {
        const { session, first } = newLog();
        const lease = await store.claim(session, stranger('a'));
        await store.append(session, 0, [first], lease);
        await expect(store.append(session, 1, [user('x')])).rejects.toMatchObject({
          code: 'session_busy',
          details: { holder: stranger('a') },
        });
        expect(await store.read(session)).toHaveLength(1);
        expect((await store.list()).sessions[0]?.holder).toBe(stranger('a'));
        await store.release(lease);
        expect((await store.list()).sessions[0]?.holder).toBeUndefined();
        await store.append(session, 1, [user('x')]);
      });

      test('a holder of this machine that is gone is replaced at once', async () => {
        const [host, , , random] = processOwner().split(':');
        const token = processOwner().split(':')[2];
        const recycled = `${host}:${process.pid}:1${token}:${random}`;
        if (process.platform === 'linux') {
          await store.claim('s_one', recycled);
          expect((await store.claim('s_one', processOwner())).epoch).toBe(2);
        }
        const living = processOwner();
        await store.claim('s_two', living);
        await expect(store.claim('s_two', processOwner())).rejects.toEqual(refusal('session_busy'));
      });

      test('of many who claim at once, one wins', async () => {
        const results = await Promise.allSettled(
          Array.from({ length: 20 }, (_, n) => store.claim('s_one', stranger(`o${n}`))),
        );
        expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
      });
    });

    describe('delete and close', () => {
      test('delete removes the log and nothing else', async () => {
        const [a, b] = [newLog(), newLog()];
        for (const { session, first } of [a, b]) await store.append(session, 0, [first, user('x')]);
        await store.delete(a.session);
        await store.delete('s_unknown');
        expect(await store.read(a.session)).toEqual([]);
        expect((await store.list()).sessions.map(({ session }) => session)).toEqual([b.session]);
        expect(await store.read(b.session)).toHaveLength(2);
      });

      test('the writer of a deleted session is stopped', async () => {
        const { session, first } = newLog();
        const lease = await store.claim(session, stranger('a'));
        await store.append(session, 0, [first], lease);
        await store.delete(session);
        await expect(store.append(session, 1, [user('x')], lease)).rejects.toEqual(refusal('stale_writer'));
        await expect(store.append(session, 1, [user('x')])).rejects.toEqual(refusal('session_not_found'));
        expect(await store.read(session)).toEqual([]);
      });

      test('close waits for what was asked for and refuses what comes after', async () => {
        const { session, first } = newLog();
        const pending = store.append(session, 0, [first]);
        await store.close();
        expect(await pending).toHaveLength(1);
        await expect(store.append(session, 1, [user('x')])).rejects.toEqual(refusal('store'));
        await expect(store.read(session)).rejects.toEqual(refusal('store'));
        await store.close();
      });
    });

    describe('follow', () => {
      test('gives what is there, then what comes, each event once and in order, until the signal', async (context) => {
        if (!canFollow(store)) return context.skip();
        const { session, first } = newLog();
        await store.append(session, 0, [first, user('old')]);
        const stop = new AbortController();
        const seen: StoredEvent[] = [];
        const following = (async () => {
          for await (const event of store.follow(session, 1, stop.signal)) {
            seen.push(event);
            if (event.seq === 42) stop.abort();
          }
        })();
        for (let seq = 2; seq < 45; seq++) {
          await store.append(session, seq, [user(`m${seq}`)]);
          if (seq % 7 === 0) await nextMillisecond();
        }
        await following;
        expect(seen).toStrictEqual((await store.read(session)).slice(1, 42));
      });

      test('a session that does not exist yet can be followed; leaving early is fine', async (context) => {
        if (!canFollow(store)) return context.skip();
        const { session, first } = newLog();
        const follower = store.follow(session, 0, new AbortController().signal)[Symbol.asyncIterator]();
        const next = follower.next();
        await store.append(session, 0, [first]);
        expect((await next).value).toMatchObject({ seq: 1, type: 'session.started' });
        await follower.return?.();
        await store.append(session, 1, [user('x')]);
      });

      test('close and an aborted signal end it', async (context) => {
        if (!canFollow(store)) return context.skip();
        const collect = async (signal: AbortSignal) => {
          const events: StoredEvent[] = [];
          for await (const event of (canFollow(store) && store.follow('s_none', 0, signal)) || []) events.push(event);
          return events;
        };
        expect(await collect(AbortSignal.abort())).toEqual([]);
        const open = collect(new AbortController().signal);
        await nextMillisecond();
        await store.close();
        expect(await open).toEqual([]);
      });
    });

    describe('blobs', () => {
      const DAY = 86_400_000;
      const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
      const named = (...texts: (string | Uint8Array)[]): Map<string, Uint8Array> =>
        new Map(
          texts.map((text) => {
            const bytes = typeof text === 'string' ? bytesOf(text) : text;
            return [blobHash(bytes), bytes];
          }),
        );
      const plain = (found: ReadonlyMap<string, Uint8Array>) =>
        new Map([...found].map(([hash, bytes]) => [hash, Buffer.from(bytes).toString('hex')]));
      const blobTest = (title: string, run: (blobs: BlobStore) => Promise<void>) =>
        test(title, async (context) => (hasBlobs(store) ? run(store) : context.skip()));

      blobTest('come back byte for byte, whatever they hold', async (blobs) => {
        const every = Uint8Array.from({ length: 1_048_576 }, (_, index) => (index * 31 + (index >> 8)) & 255);
        const given = named('', 'a', '\0', every, Uint8Array.of(0xff, 0xfe, 0, 0x80));
        await blobs.putBlobs(given);
        expect(plain(await blobs.readBlobs([...given.keys()]))).toEqual(plain(given));
      });

      blobTest('only those that are there are read; the others are missing', async (blobs) => {
        const here = named('here', 'too');
        const gone = [...named('gone').keys()];
        await blobs.putBlobs(here);
        expect(await blobs.missingBlobs([...here.keys(), ...gone])).toEqual(gone);
        expect([...(await blobs.readBlobs([...gone, ...here.keys()])).keys()].sort()).toEqual([...here.keys()].sort());
        expect(await blobs.missingBlobs([])).toEqual([]);
        expect(await blobs.readBlobs([])).toEqual(new Map());
        await blobs.putBlobs(new Map());
      });

      blobTest('a blob under a wrong name keeps all of its call out', async (blobs) => {
        const right = named('right');
        const wrong = new Map([...right, ['0'.repeat(64), bytesOf('wrong')]]);
        await expect(blobs.putBlobs(wrong)).rejects.toEqual(refusal('usage'));
        expect(await blobs.readBlobs([...right.keys()])).toEqual(new Map());
      });

      blobTest(
        'the same ones may be put again and at once; what the caller does to its bytes is its own',
        async (blobs) => {
          const many = named(...Array.from({ length: 200 }, (_, index) => `blob ${index}`));
          const backwards = new Map([...many].reverse());
          await Promise.all([many, backwards, many, backwards].map((each) => blobs.putBlobs(each)));
          const [hash] = [...many.keys()] as [string];
          const before = plain(await blobs.readBlobs([hash]));
          (await blobs.readBlobs([hash])).get(hash)?.fill(0);
          many.get(hash)?.fill(0);
          expect(plain(await blobs.readBlobs([hash]))).toEqual(before);
          expect(await blobs.missingBlobs([...many.keys()])).toEqual([]);
        },
      );

      blobTest('those that are neither kept nor used lately are dropped', async (blobs) => {
        const all = named('kept', 'dropped');
        const [kept, dropped] = [...all.keys()] as [string, string];
        await blobs.putBlobs(all);
        expect(await blobs.dropBlobs(new Set([kept]), DAY)).toBe(0);
        expect(await blobs.missingBlobs([...all.keys()])).toEqual([]);
        await nextMillisecond();
        expect(await blobs.dropBlobs(new Set([kept]), 0)).toBe(1);
        expect(await blobs.missingBlobs([...all.keys()])).toEqual([dropped]);
        await nextMillisecond();
        expect(await blobs.dropBlobs(new Set(), 0)).toBe(1);
      });

      blobTest(
        'libraries that sessions were started with are named once, large logs and odd texts included',
        async (blobs) => {
          const [one, two, fake] = [...named('one', 'two', 'fake').keys()] as [string, string, string];
          const logs = [
            newLog({ library: one }),
            newLog({ library: one, system: `{"library":"${fake}"} \0 ${'x'.repeat(100_000)}` }),
            newLog({ library: two }),
            newLog({ system: `"library":"${fake}"` }),
          ];
          for (const { session, first } of logs) await blobs.append(session, 0, [first, user('x')]);
          expect((await blobs.namedLibraries()).sort()).toEqual([one, two].sort());
          const last = logs[2] as (typeof logs)[number];
          await blobs.delete(last.session);
          expect(await blobs.namedLibraries()).toEqual([one]);
        },
      );
    });
  });
}

async function nextMillisecond(): Promise<void> {
  const now = Date.now();
  while (Date.now() <= now) await delay(1);
}
