import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { newSessionId } from '../../src/core/ids.ts';
import type { ScriptedFunction } from '../../src/models/scripted.ts';
import { eventsOf, serving, upTo } from './serving.ts';

interface Shown {
  session: string;
  status: string;
  messages: { role: string; content: string }[];
}

/** Answers at once, but to what begins with "slow". */
const model: ScriptedFunction = ({ messages }) => {
  const { content = '' } = (messages.findLast(({ role }) => role === 'user') ?? {}) as { content?: string };
  return content.startsWith('slow') ? { text: 'late', latency: 60_000 } : `answer to ${content}`;
};

describe('sessions over HTTP', () => {
  it('a task starts a session, which is listed, read and gone on with', async () => {
    const { json, post, start, until } = await serving(model);
    const session = await start('one');
    await until(session, 'completed');
    expect((await post(`/sessions/${session}/messages`, { text: 'two' })).status).toBe(202);
    await until(session, 'completed');
    const { messages } = await json<Shown>(`/sessions/${session}`);
    expect(messages.map(({ content }) => content)).toEqual(['one', 'answer to one', 'two', 'answer to two']);
    expect(await json(`/sessions/${session}/tree`)).toMatchObject({ session, status: 'completed', children: [] });
  });

  it('pages of the list follow one another, and filters hold', async () => {
    const { json, start, api } = await serving(model);
    const made: string[] = [];
    for (const task of ['a', 'b', 'c']) made.push(await start(task));
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await json<{ sessions: Shown[]; next: string | null }>(
        `/sessions?limit=2&order=oldest${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      seen.push(...page.sessions.map(({ session }) => session));
      if (page.next === null) break;
      cursor = page.next;
    }
    expect(seen).toEqual(made);
    expect((await json<{ sessions: unknown[] }>('/sessions?cwd=/elsewhere')).sessions).toEqual([]);
    for (const query of ['limit=0', 'limit=x', 'cursor=abc', 'kind=cat', 'colour=red']) {
      const response = await api(`/sessions?${query}`);
      expect([query, response.status]).toEqual([query, 400]);
      expect(await response.json()).toMatchObject({ error: { code: 'usage' } });
    }
  });

  it('what is not there, and what does not hold, is told as such', async () => {
    const { api, post, runtime } = await serving(model);
    const none = newSessionId();
    for (const path of [`/sessions/${none}`, `/sessions/${none}/tree`, `/sessions/${none}/events`, '/sessions/s_']) {
      const response = await api(path);
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ error: { code: 'session_not_found' } });
    }
    const wrong = [
      [{}, 400],
      [{ task: ' ' }, 400],
      [{ task: 'x', colour: 'red' }, 400],
      [{ task: 'x', limits: { steps: 0 } }, 400],
      [{ task: 'x', skill: 'no-such' }, 422],
      [{ task: 'x'.repeat(1_100_000) }, 413],
    ] as const;
    for (const [body, status] of wrong) {
      const response = await post('/sessions', body);
      expect([JSON.stringify(body).slice(0, 40), response.status]).toEqual([JSON.stringify(body).slice(0, 40), status]);
      expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
    }
    const headers = { 'content-type': 'application/json' };
    expect((await api('/sessions', { method: 'POST', body: '{"task":', headers })).status).toBe(400);
    expect((await api('/sessions', { method: 'POST', body: '{"task":"x"}' })).status).toBe(415);
    expect((await post(`/sessions/${none}/messages`, { text: 'x' })).status).toBe(404);
    expect(await (await api('/nowhere')).json()).toMatchObject({ error: { code: 'not_found' } });
    expect((await runtime.store.list()).sessions).toEqual([]);
  });

  it('a turn that runs is busy until it is cancelled; one that has ended cannot be', async () => {
    const { post, start, until, json } = await serving(model);
    const session = await start('slow');
    const busy = await post(`/sessions/${session}/messages`, { text: 'more' });
    expect(busy.status).toBe(409);
    expect(await busy.json()).toMatchObject({ error: { code: 'session_busy' } });
    expect((await post(`/sessions/${session}/resume`)).status).toBe(409);
    expect((await post(`/sessions/${session}/cancel`)).status).toBe(202);
    await until(session, 'cancelled');
    const over = await post(`/sessions/${session}/cancel`);
    expect([over.status, await over.json()]).toMatchObject([409, { error: { code: 'not_open' } }]);
    expect((await post(`/sessions/${session}/resume`)).status).toBe(409);
    expect((await post(`/sessions/${session}/messages`, { text: 'again' })).status).toBe(202);
    await until(session, 'completed');
    expect((await json<Shown>(`/sessions/${session}`)).messages.at(-1)?.content).toBe('answer to again');
  });

  it('of two that go on with one session at once, one is told that it is busy', async () => {
    const { post, start, until } = await serving(model);
    const session = await start('one');
    await until(session, 'completed');
    const both = await Promise.all(['slow a', 'slow b'].map((text) => post(`/sessions/${session}/messages`, { text })));
    expect(both.map(({ status }) => status).sort()).toEqual([202, 409]);
  });

  it('a skill is run with the task as its arguments, and limits hold', async () => {
    const { shop, post, until, json } = await serving(({ skill, messages }) =>
      skill === 'dig'
        ? `dug ${(messages.at(-1) as { content: string }).content}`
        : { calls: [{ name: 'list_files', arguments: { path: '.' } }] },
    );
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { session } = (await (await post('/sessions', { task: 'gold', skill: 'dig' })).json()) as Shown;
    await until(session, 'completed');
    expect((await json<Shown>(`/sessions/${session}`)).messages.at(-1)?.content).toContain('dug gold');
    const limited = (await (await post('/sessions', { task: 'loop', limits: { steps: 2 } })).json()) as Shown;
    await until(limited.session, 'limit');
  });

  it('a turn that was cut is finished', async () => {
    const { shop, post, json, until, start } = await serving(model);
    // Another process begins a turn and ends in the middle of it.
    const cut = await serving(() => ({ text: 'late', latency: 60_000 }), { shop });
    const session = await cut.start('left behind');
    await cut.until(session, 'running');
    expect((await post(`/sessions/${session}/messages`, { text: 'x' })).status).toBe(409);
    expect((await post(`/sessions/${session}/cancel`)).status).toBe(409);
    const { holder } = (await cut.runtime.store.list({ idPrefix: session })).sessions[0]!;
    await cut.runtime.store.release({
      session,
      owner: holder!,
      epoch: (await cut.runtime.store.claim(session, holder!)).epoch,
    });
    await until(session, 'interrupted');
    expect((await post(`/sessions/${session}/resume`)).status).toBe(202);
    await until(session, 'completed');
    expect((await json<Shown>(`/sessions/${session}`)).messages.at(-1)?.content).toBe('answer to left behind');
    expect(await start('and another')).toMatch(/^s_/);
  });
});

describe('events as they are logged', () => {
  it('come to every client from where it asks, and again from the last one that it had', async () => {
    const { api, post, start, until } = await serving(model);
    const session = await start('one');
    await until(session, 'completed');
    const [first, second] = [
      eventsOf(await api(`/sessions/${session}/events`)),
      eventsOf(await api(`/sessions/${session}/events?from=3`)),
    ];
    const old = await upTo(first, 'turn.ended');
    expect(old[0]).toMatchObject({ id: 1, data: { session, seq: 1, type: 'session.started' } });
    expect(old.map(({ id }) => id)).toEqual(old.map((_, index) => index + 1));
    expect((await upTo(second, 'turn.ended')).map(({ id }) => id)).toEqual(
      old.map(({ id }) => id).filter((id) => id > 3),
    );
    await post(`/sessions/${session}/messages`, { text: 'two' });
    const [one, two] = await Promise.all([upTo(first, 'turn.ended'), upTo(second, 'turn.ended')]);
    expect(one).toEqual(two);
    expect(one[0]).toMatchObject({ id: old.length + 1, data: { type: 'user.message', content: 'two' } });
    await first.leave();
    await second.leave();
    const headers = { 'last-event-id': String(one[0]!.id) };
    const again = eventsOf(await api(`/sessions/${session}/events?from=0`, { headers }));
    expect(await upTo(again, 'turn.ended')).toEqual(one.slice(1));
    await again.leave();
  });

  it('a client that leaves stops nothing, and is not followed for any more', async () => {
    const { api, start, until, runtime, problems, post } = await serving(model);
    let following = 0;
    const { store } = runtime as unknown as { store: { follow: (...args: unknown[]) => AsyncGenerator } };
    const { follow } = store;
    store.follow = async function* (...args) {
      following++;
      try {
        yield* follow.apply(store, args);
      } finally {
        following--;
      }
    };
    const session = await start('slow');
    const gone = new AbortController();
    const stream = eventsOf(await api(`/sessions/${session}/events`, { signal: gone.signal }));
    await upTo(stream, 'user.message');
    expect(following).toBe(1);
    gone.abort();
    while (following > 0) await delay(10);
    expect((await post(`/sessions/${session}/messages`, { text: 'x' })).status).toBe(409);
    await post(`/sessions/${session}/cancel`);
    await until(session, 'cancelled');
    expect(problems).toEqual([]);
  });

  it('a stream without events shows that the server is there', async () => {
    const { api, start, until } = await serving(model, { heartbeat: 30 });
    const session = await start('one');
    await until(session, 'completed');
    const stream = eventsOf(await api(`/sessions/${session}/events?from=1000`));
    expect([await stream.next(), await stream.next(), await stream.next()]).toEqual([undefined, undefined, undefined]);
    await stream.leave();
  });

  it('the end of the server ends streams, and cancels what runs here', async () => {
    const { api, start, served, runtime } = await serving(model);
    const session = await start('slow');
    const stream = eventsOf(await api(`/sessions/${session}/events`));
    await upTo(stream, 'user.message');
    expect(served.running).toBe(1);
    await served.close(5_000);
    expect((await runtime.store.list({ idPrefix: session })).sessions[0]).toMatchObject({ status: 'cancelled' });
    await expect(upTo(stream, 'never')).rejects.toThrow(/ended|terminated/);
    await expect(api('/sessions')).rejects.toThrow('fetch failed');
    expect(served.running).toBe(0);
  });
});
