import { describe, expect, it } from 'vitest';
import { toAnthropicBody } from '../../src/models/anthropic-body.ts';
import type { ProviderSettings } from '../../src/models/contract.ts';
import { dialectOf } from '../../src/models/dialects.ts';
import { createModels } from '../../src/models/models.ts';
import { toOpenAIBody } from '../../src/models/openai-body.ts';
import { toResponsesBody } from '../../src/models/responses-body.ts';
import { roomOf, windowOf } from '../../src/models/windows.ts';
import { never, request, user } from './requests.ts';
import { chat, openStream, streamServer } from './stream-server.ts';

const openai: ProviderSettings = { name: 'o', kind: 'openai', models: [] };
const anthropic: ProviderSettings = { name: 'a', kind: 'anthropic', models: [] };
const local: ProviderSettings = { ...openai, base_url: 'http://127.0.0.1:8080/v1' };

describe('a window', () => {
  it.each<[string, ProviderSettings, string, number, boolean, number]>([
    [
      'is that of a well-known model, with the room of its answer',
      anthropic,
      'claude-sonnet-4-5',
      200_000,
      true,
      168_000,
    ],
    ['has an input limit where the vendor states one', openai, 'gpt-5-mini', 400_000, true, 272_000],
    ['is left whole where a server cuts the answer itself', openai, 'gpt-4o-mini', 128_000, true, 128_000],
    ['is that of the configuration when it has one', { ...openai, context_window: 9_000 }, 'gpt-5', 9_000, true, 9_000],
    ['is a default for a model that nobody knows', openai, 'gpt-unheard-of', 128_000, false, 128_000],
    ['is a default at any other address', { ...local }, 'gpt-5', 128_000, false, 128_000],
    [
      'is a default, with no answer guessed',
      { ...anthropic, base_url: 'https://x.example' },
      'm',
      128_000,
      false,
      128_000,
    ],
    ['leaves room for max_output_tokens', { ...local, max_output_tokens: 8_000 }, 'm', 128_000, false, 120_000],
    [
      'leaves room for what the messages wire asks for',
      { ...anthropic, context_window: 32_000 },
      'm',
      32_000,
      true,
      23_808,
    ],
    [
      'leaves no more than the model can answer',
      { ...openai, max_output_tokens: 50_000 },
      'gpt-4o',
      128_000,
      true,
      111_616,
    ],
    [
      'is never half lost to answers',
      { ...local, context_window: 8_000, max_output_tokens: 8_000 },
      'm',
      8_000,
      true,
      4_000,
    ],
  ])('%s', (_, settings, model, window, isKnown, room) => {
    const found = windowOf(settings, model);
    expect(found).toMatchObject({ contextWindow: window, isWindowKnown: isKnown });
    expect(roomOf(found)).toBe(room);
  });

  it('is what a model is resolved with', async () => {
    const models = createModels({
      providers: [{ ...anthropic, models: ['claude-haiku-4-5'] }],
      env: { ANTHROPIC_API_KEY: 'k' },
    });
    expect(await models.resolve()).toMatchObject({ contextWindow: 200_000, isWindowKnown: true, answerTokens: 32_000 });
  });
});

describe('the length of an answer', () => {
  const limits = (asked: number | undefined, configured: number | undefined, most?: number) => {
    const asking = request([user('x')], { model: 'm', maxOutputTokens: asked });
    const settings = { maxOutputTokens: configured, mostOutput: () => most };
    const body = toOpenAIBody(asking, { ...settings, dialect: dialectOf({ name: 'x', baseUrl: 'http://x' }) });
    const responses = toResponsesBody(asking, { ...settings, provider: 'x', cacheKey: false });
    expect(responses.max_output_tokens).toBe(body.max_tokens);
    return [body.max_tokens, toAnthropicBody(asking, settings).max_tokens];
  };

  it('is never more than the provider is configured with, or the model gives', () => {
    expect(limits(undefined, undefined)).toEqual([undefined, 8_192]);
    expect(limits(undefined, undefined, 4_096)).toEqual([undefined, 4_096]);
    expect(limits(9_000, undefined)).toEqual([9_000, 9_000]);
    expect(limits(9_000, 2_000)).toEqual([2_000, 2_000]);
    expect(limits(1_000, 2_000)).toEqual([1_000, 1_000]);
    expect(limits(9_000, 8_000, 7_000)).toEqual([7_000, 7_000]);
  });

  it('is held to on the wire', async () => {
    const server = await streamServer((response) => {
      openStream(response);
      response.end(chat({ content: 'ok' }, 'stop'));
    });
    const provider = { ...openai, base_url: server.url, models: ['m'], max_output_tokens: 500 };
    const { client } = await createModels({ providers: [provider], env: {} }).resolve('m');
    await client.generate(request([user('x')], { maxOutputTokens: 4_096 }), { signal: never });
    expect(server.bodies[0]).toMatchObject({ max_tokens: 500 });
    await server.close();
  });
});
