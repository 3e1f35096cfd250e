import { describe, expect, it } from 'vitest';
import { costOf } from '../../src/core/usage.ts';
import type { ModelClient, ProviderSettings } from '../../src/models/contract.ts';
import { createModels } from '../../src/models/models.ts';
import { costOfReply, priceOf } from '../../src/models/prices.ts';
import { withRetry } from '../../src/models/retry.ts';
import { FakeClock } from './fake-clock.ts';
import { collect, never, request, user } from './requests.ts';
import { chat, openStream, streamServer } from './stream-server.ts';

/** A server that answers with a status for `first`, and with a word for every other model. */
async function threeModels(status: number, body: object = { error: { message: 'no' } }, headers = {}) {
  const server = await streamServer((response) => {
    const { model } = server.bodies.at(-1) as { model: string };
    if (model === 'first') return void response.writeHead(status, headers).end(JSON.stringify(body));
    openStream(response);
    response.end(`${chat({ content: `I am ${model}` }, 'stop')}data: [DONE]\n\n`);
  });
  const clock = new FakeClock();
  const provider: ProviderSettings = {
    name: 'local',
    kind: 'openai',
    base_url: server.url,
    models: ['first', 'second', 'third'],
    prices: { first: { input: 1, output: 1 }, second: { input: 8, output: 8 } },
  };
  const models = createModels({
    providers: [provider],
    fallbackModels: ['second', 'third'],
    retry: { clock },
    env: {},
  });
  const seen = collect();
  const go = async (signal = never) => {
    const model = await models.resolve('first');
    return { model, reply: await model.client.generate(request([user('x')], { model: 'first' }), { signal, ...seen }) };
  };
  const asked = () => server.bodies.map(({ model }) => model);
  return { server, clock, models, seen, go, asked };
}

describe('fallback models', () => {
  it.each([
    [401, 1],
    [404, 1],
    [402, 1],
    [529, 6],
    [500, 6],
  ])('are asked after %i and %i attempts, and the reply says so', async (status, attempts) => {
    const { server, seen, go, asked } = await threeModels(status, { error: { message: 'the model first: no' } });
    try {
      const { model, reply } = await go();
      expect(reply).toMatchObject({ text: 'I am second', fallbackFrom: 'local/first', answeredBy: 'local/second' });
      expect(asked()).toEqual([...Array.from({ length: attempts }, () => 'first'), 'second']);
      expect(seen.deltas.filter(({ type }) => type === 'fallback')).toEqual([
        { type: 'fallback', from: 'local/first', to: 'local/second', reason: expect.stringContaining(String(status)) },
      ]);
      expect(costOfReply(model, reply)).toBe(costOf(reply.usage, { input: 8, output: 8 }));
      expect(costOfReply(model, { ...reply, answeredBy: 'local/third' })).toBeUndefined();
    } finally {
      await server.close();
    }
  });

  it('are asked at once when a server says of its own failure that asking again is of no use', async () => {
    const { server, go, asked } = await threeModels(500, undefined, { 'x-should-retry': 'false' });
    try {
      expect((await go()).reply.text).toBe('I am second');
      expect(asked()).toEqual(['first', 'second']);
    } finally {
      await server.close();
    }
  });

  it('are not asked when the request was refused, was too long, or was cancelled', async () => {
    for (const message of ['bad field', "This model's maximum context length is 10 tokens"]) {
      const { server, go, asked } = await threeModels(400, { error: { message } });
      await expect(go()).rejects.toMatchObject({ details: { status: 400 } });
      expect(asked()).toEqual(['first']);
      await server.close();
    }
    const { server, go, asked } = await threeModels(401);
    await expect(go(AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
    expect(asked()).toEqual([]);
    await server.close();
  });

  it('let a model that failed rest for a minute, and say so at each call', async () => {
    const { server, clock, seen, go, asked } = await threeModels(401);
    try {
      await go();
      await go();
      expect(asked()).toEqual(['first', 'second', 'second']);
      expect(seen.deltas.filter(({ type }) => type === 'fallback')).toHaveLength(2);
      clock.advance(61_000);
      await go();
      expect(asked().slice(3)).toEqual(['first', 'second']);
    } finally {
      await server.close();
    }
  });

  it('that fail, too, are told with the first error, which keeps its code', async () => {
    const server = await streamServer((response) => void response.writeHead(401).end('{"error":{"message":"no"}}'));
    const provider: ProviderSettings = { name: 'local', kind: 'openai', base_url: server.url, models: ['a', 'b'] };
    const { client } = await createModels({ providers: [provider], fallbackModels: ['b'], env: {} }).resolve('a');
    await expect(client.generate(request([user('x')]), { signal: never })).rejects.toMatchObject({
      code: 'provider_auth',
      message: expect.stringContaining('fallback models failed, too'),
    });
    await server.close();
  });

  it('must exist, and are none unless they are configured', async () => {
    const provider: ProviderSettings = { name: 'local', kind: 'openai', base_url: 'http://127.0.0.1:9', models: ['a'] };
    await expect(
      createModels({ providers: [provider], fallbackModels: ['nobody'], env: {} }).resolve('a'),
    ).rejects.toMatchObject({ code: 'model_not_found' });
    expect(await createModels({ providers: [provider], env: {} }).resolve('a')).not.toHaveProperty('fallbacks');
  });
});

describe('the window of a fallback model', () => {
  const long = 'lorem ipsum '.repeat(4_000);

  async function sized(windows: Record<string, number | undefined>, body = 'no') {
    const server = await streamServer((response) => {
      const { model } = server.bodies.at(-1) as { model: string };
      if (model === 'first') return void response.writeHead(401).end('{}');
      if (body !== 'no') return void response.writeHead(400).end(JSON.stringify({ error: { message: body } }));
      openStream(response);
      response.end(`${chat({ content: `I am ${model}` }, 'stop')}data: [DONE]\n\n`);
    });
    const providers = Object.entries({ first: 200_000, ...windows }).map(
      ([name, context_window]): ProviderSettings => ({
        name: `at-${name}`,
        kind: 'openai',
        base_url: server.url,
        models: [name],
        context_window,
      }),
    );
    const models = createModels({ providers, fallbackModels: Object.keys(windows), env: {} });
    const model = await models.resolve('first');
    const seen = collect();
    const go = (text = long) =>
      model.client.generate(request([user(text)], { model: 'first' }), { signal: never, ...seen });
    return { server, model, seen, go };
  }

  it('that is too small for a request has it left out, with the reason', async () => {
    const { server, model, seen, go } = await sized({ small: 8_000, guessed: undefined, large: 100_000 });
    expect(model.fallbacks?.map(({ contextWindow }) => contextWindow)).toEqual([8_000, 128_000, 100_000]);
    expect(model.next?.(12_000)).toMatchObject({ name: 'at-first/first', contextWindow: 200_000 });
    expect((await go()).text).toBe('I am guessed');
    expect(seen.deltas.filter(({ type }) => type === 'fallback')).toEqual([
      {
        type: 'fallback',
        from: 'at-first/first',
        to: 'at-guessed/guessed',
        reason: expect.stringMatching(
          /401.*; at-small\/small is left out: a request of about 12000 tokens .* its 8000$/,
        ),
      },
    ]);
    expect(model.next?.(12_000)).toMatchObject({ name: 'at-guessed/guessed' });
    expect(model.next?.(6_000)).toMatchObject({ name: 'at-small/small', contextWindow: 8_000 });
    expect((await go('short')).text).toBe('I am small');
    await server.close();
  });

  it('that is the largest left and too small is told, and nothing is sent there', async () => {
    const { server, model, go } = await sized({ tiny: 2_000, small: 8_000 });
    await expect(go()).rejects.toMatchObject({
      code: 'context_length',
      message: expect.stringMatching(/12000 tokens does not fit into the 8000 of the fallback model at-small\/small/),
      details: { model: 'at-small/small', room: 8_000 },
      cause: { code: 'provider_auth' },
    });
    expect(server.bodies.map((body) => body.model)).toEqual(['first']);
    expect(model.next?.(12_000)).toMatchObject({ name: 'at-small/small' });
    await server.close();
  });

  it('that its server finds too small is told with its name', async () => {
    const { server, go } = await sized({ second: 100_000 }, "This model's maximum context length is 10 tokens");
    await expect(go()).rejects.toMatchObject({ code: 'context_length', details: { model: 'at-second/second' } });
    await server.close();
  });
});

describe('the deadline of a call', () => {
  it('ends it with what had come, whatever it is doing', async () => {
    const server = await streamServer((response) => {
      openStream(response);
      response.write(chat({ content: 'half' }));
    });
    const { openaiClient } = await import('../../src/models/openai.ts');
    const client = withRetry(openaiClient({ name: 'local', baseUrl: server.url }), { deadline: 150 });
    await expect(client.generate(request([user('x')]), { signal: never })).rejects.toMatchObject({
      code: 'provider',
      message: 'local: no whole answer within 0.15 s',
      details: { partialText: 'half', retryable: true },
    });
    await server.close();
  });

  it('is not a cancellation, and a cancellation is not it', async () => {
    const stuck: ModelClient = {
      provider: 'p',
      generate: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    };
    const controller = new AbortController();
    const going = withRetry(stuck, { deadline: 60_000 }).generate(request([]), { signal: controller.signal });
    setImmediate(() => controller.abort());
    await expect(going).rejects.toMatchObject({ code: 'cancelled' });
    await expect(withRetry(stuck, { deadline: 20 }).generate(request([]), { signal: never })).rejects.toMatchObject({
      code: 'provider',
    });
  });
});

describe('list prices', () => {
  const anthropic: ProviderSettings = { name: 'a', kind: 'anthropic', models: [] };

  it('are known by the exact host and the exact name', () => {
    expect(priceOf(anthropic, 'claude-sonnet-4-5-20250929')).toEqual({
      input: 3,
      output: 15,
      cache_read: 0.3,
      cache_write: 3.75,
    });
    expect(priceOf({ name: 'o', kind: 'responses', models: [] }, 'gpt-4.1-mini')).toMatchObject({ cache_read: 0.1 });
    expect(priceOf({ ...anthropic, base_url: 'https://api.anthropic.com/v1' }, 'claude-haiku-4-5')).toBeDefined();
    for (const [settings, model] of [
      [anthropic, 'claude-sonnet-4-5-20990101'],
      [anthropic, 'toString'],
      [{ ...anthropic, base_url: 'https://proxy.example/v1' }, 'claude-haiku-4-5'],
      [{ name: 'o', kind: 'openai', models: [], base_url: 'https://openrouter.ai/api/v1' }, 'gpt-4.1-mini'],
      [{ name: 's', kind: 'scripted', models: [] }, 'gpt-4.1-mini'],
    ] as [ProviderSettings, string][]) {
      expect(priceOf(settings, model), `${settings.base_url} ${model}`).toBeUndefined();
    }
  });

  it('give way to a table of the configuration, and can be switched off', async () => {
    const prices = { 'claude-haiku-4-5': { input: 9, output: 9 } };
    expect(priceOf({ ...anthropic, prices }, 'claude-haiku-4-5')).toEqual({ input: 9, output: 9 });
    expect(priceOf({ ...anthropic, prices }, 'claude-opus-5')).toBeUndefined();
    expect(priceOf(anthropic, 'claude-opus-5', false)).toBeUndefined();
  });

  it('charge what was read from the cache and what was written to it apart', () => {
    const usage = { input: 1_000_000, output: 0, cache_read: 600_000, cache_write: 300_000, reasoning: 0 };
    const cost = costOf(usage, priceOf(anthropic, 'claude-sonnet-4-5'));
    expect(cost).toBeCloseTo(0.1 * 3 + 0.6 * 0.3 + 0.3 * 3.75);
  });
});
