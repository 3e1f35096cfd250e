import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { costOf } from '../../src/core/usage.ts';
import type { ProviderSettings } from '../../src/models/contract.ts';
import { askForModels, detectProvider } from '../../src/models/detect.ts';
import { createModels, modelsOf } from '../../src/models/models.ts';
import { priceOf } from '../../src/models/prices.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { never, request, user } from './requests.ts';
import { chat, openStream, streamServer } from './stream-server.ts';

const env = { OPENAI_API_KEY: 'k-openai', ROUTER_KEY: 'k-router' };

const providers: ProviderSettings[] = [
  {
    name: 'openai',
    kind: 'openai',
    models: ['gpt-5', 'gpt-5-mini'],
    context_window: 400_000,
    prices: { 'gpt-5': { input: 2, output: 10, cache_read: 0.5 } },
  },
  {
    name: 'router',
    kind: 'openai',
    base_url: 'https://openrouter.ai/api/v1',
    api_key_env: 'ROUTER_KEY',
    models: ['anthropic/claude-opus', 'GPT-4o'],
  },
  { name: 'claude', kind: 'anthropic', models: ['claude-sonnet-5'] },
];

describe('createModels', () => {
  const resolve = (name?: string, more = {}) => createModels({ providers, env, ...more }).resolve(name);

  it.each([
    [undefined, 'openai', 'gpt-5'],
    ['', 'openai', 'gpt-5'],
    ['gpt-5-mini', 'openai', 'gpt-5-mini'],
    ['openai/gpt-5-mini', 'openai', 'gpt-5-mini'],
    ['openai', 'openai', 'gpt-5'],
    ['router', 'router', 'anthropic/claude-opus'],
    ['router/anthropic/claude-opus', 'router', 'anthropic/claude-opus'],
    ['anthropic/claude-opus', 'router', 'anthropic/claude-opus'],
    ['gpt-4O', 'router', 'GPT-4o'],
  ])('finds %s', async (name, provider, model) => {
    expect(await resolve(name)).toMatchObject({ provider, model });
  });

  it('knows windows and prices, and guesses neither', async () => {
    expect(await resolve('gpt-5')).toMatchObject({ contextWindow: 400_000, price: { input: 2 } });
    expect((await resolve('gpt-5-mini')).price).toBeUndefined();
    expect((await resolve('router')).contextWindow).toBe(128_000);
  });

  it('finds the default model', async () => {
    expect(await resolve(undefined, { defaultModel: 'router/GPT-4o' })).toMatchObject({ model: 'GPT-4o' });
  });

  it.each(['gpt5', 'openai/gpt-6', 'nobody/gpt-5'])('names the nearest models for %s', async (name) => {
    await expect(resolve(name)).rejects.toMatchObject({
      code: 'model_not_found',
      message: `no model "${name}" is configured`,
      hint: expect.stringContaining('openai/gpt-5'),
    });
  });

  it('names the variable of a missing key, and finds the key when it is set later', async () => {
    const later: Record<string, string> = {};
    const models = createModels({ providers, env: later });
    await expect(models.resolve('claude')).rejects.toMatchObject({
      code: 'provider_auth',
      message: expect.stringContaining('ANTHROPIC_API_KEY'),
    });
    await expect(models.resolve('router')).rejects.toMatchObject({ details: { variable: 'ROUTER_KEY' } });
    later.ROUTER_KEY = '  ';
    await expect(models.resolve('router')).rejects.toMatchObject({ code: 'provider_auth' });
    later.ROUTER_KEY = 'k';
    expect((await models.resolve('router')).provider).toBe('router');
  });

  it('builds a provider once', async () => {
    const models = createModels({ providers, env });
    const [left, right] = await Promise.all([models.resolve('gpt-5'), models.resolve('gpt-5-mini')]);
    expect(left.client).toBe(right.client);
  });

  it('takes any name where a list is open', async () => {
    const open: ProviderSettings = { name: 'local', kind: 'openai', base_url: 'http://127.0.0.1:1/v1', models: [] };
    expect(await createModels({ providers: [...providers, open], env }).resolve('qwen3')).toMatchObject({
      provider: 'local',
      model: 'qwen3',
    });
    const starred = { ...open, models: ['first', '*'] };
    const models = createModels({ providers: [starred] });
    expect(await models.resolve()).toMatchObject({ model: 'first' });
    expect(await models.resolve('local/other')).toMatchObject({ model: 'other' });
    await expect(createModels({ providers: [open] }).resolve()).rejects.toMatchObject({ code: 'model_not_found' });
  });

  it('says how to begin without a provider', async () => {
    await expect(createModels({ providers: [] }).resolve()).rejects.toMatchObject({
      code: 'config',
      hint: expect.stringContaining('[[providers]]'),
    });
  });

  it('repeats failed attempts and sends keys and headers', async () => {
    const server = await streamServer((response, count) => {
      if (count === 1) return void response.writeHead(503, { 'retry-after-ms': '1' }).end('{}');
      openStream(response);
      response.end(chat({ content: 'hi' }, 'stop'));
    });
    try {
      const local: ProviderSettings = {
        name: 'l',
        kind: 'openai',
        base_url: server.url,
        api_key_env: 'ROUTER_KEY',
        models: ['m'],
        headers: { 'x-team': 'blue' },
      };
      const { client } = await createModels({ providers: [local], env, retry: { baseDelay: 1 } }).resolve();
      expect((await client.generate(request([user('x')]), { signal: never })).text).toBe('hi');
      expect(server.headers[1]).toMatchObject({ authorization: 'Bearer k-router', 'x-team': 'blue' });
    } finally {
      await server.close();
    }
  });
});

describe('scripted providers', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reasonix-models-'));
    await writeFile(join(folder, 'script.yaml'), 'rules:\n  - text: "{{model}} says {{user}}"\n');
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('read their script from the folder they are told', async () => {
    const settings: ProviderSettings = { name: 'demo', kind: 'scripted', models: [], script: 'script.yaml' };
    const models = createModels({ providers: [settings], cwd: folder });
    const { client, model } = await models.resolve();
    expect((await client.generate(request([user('hi')], { model }), { signal: never })).text).toBe('demo says hi');
    await expect(createModels({ providers: [{ ...settings, script: undefined }] }).resolve()).rejects.toMatchObject({
      code: 'config',
    });
    await expect(createModels({ providers: [settings], cwd: tmpdir() }).resolve()).rejects.toMatchObject({
      message: expect.stringContaining('script.yaml'),
    });
  });

  it('load no provider SDK: none is imported but as a type, or when it is used', async () => {
    const sources = join(import.meta.dirname, '../../src/models');
    let lazy = 0;
    for (const file of await readdir(sources)) {
      const text = await readFile(join(sources, file), 'utf8');
      expect(text, file).not.toMatch(/^import (?!type )[^;]*from '(?:openai|@anthropic-ai\/sdk)/m);
      lazy += text.match(/await import\('(?:openai|@anthropic-ai\/sdk)'\)/g)?.length ?? 0;
    }
    expect(lazy).toBe(2);
  });

  it('made in code serve any name', async () => {
    const scripted = scriptedModel(['x'].map((text) => ({ text })));
    const models = modelsOf(scripted, { model: 'm' });
    expect(await models.resolve()).toMatchObject({ provider: 'scripted', model: 'm', price: undefined });
    expect(await models.resolve('scripted/fast')).toMatchObject({ model: 'fast' });
  });
});

describe('cost', () => {
  const usage = { input: 1_000_000, output: 100_000, cache_read: 800_000, cache_write: 0, reasoning: 0 };
  it('comes from the table, or is unknown', () => {
    expect(costOf(usage, priceOf(providers[0]!, 'gpt-5'))).toBeCloseTo(0.2 * 2 + 0.8 * 0.5 + 0.1 * 10);
    expect(costOf(usage, priceOf(providers[0]!, 'gpt-5-mini'))).toBeUndefined();
    expect(priceOf(providers[0]!, 'constructor')).toBeUndefined();
  });
});

describe('detectProvider', () => {
  const silent = async () => undefined;

  it.each([
    [
      { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'b' },
      { name: 'anthropic', kind: 'anthropic', api_key_env: 'ANTHROPIC_API_KEY' },
    ],
    [
      { ANTHROPIC_API_KEY: ' ', OPENAI_API_KEY: 'b' },
      { name: 'openai', kind: 'openai', api_key_env: 'OPENAI_API_KEY' },
    ],
    [
      { OPENAI_API_KEY: 'b', OPENAI_BASE_URL: 'http://proxy/v1' },
      { name: 'openai', base_url: 'http://proxy/v1' },
    ],
    [
      { DEEPSEEK_API_KEY: 'c', OPENROUTER_API_KEY: 'd' },
      { name: 'deepseek', base_url: 'https://api.deepseek.com' },
    ],
    [{ OPENROUTER_API_KEY: 'd' }, { name: 'openrouter', base_url: 'https://openrouter.ai/api/v1' }],
  ])('by the key of %j', async (variables, expected) => {
    const found = await detectProvider(variables, { probe: silent });
    expect(found).toMatchObject(expected);
    expect(await createModels({ providers: [found], env: variables }).resolve()).toMatchObject({
      provider: found.name,
    });
    expect(await createModels({ providers: [found], env: variables }).resolve('another-model')).toMatchObject({
      model: 'another-model',
    });
  });

  it('by a server on this machine, with the models it names', async () => {
    const ollama = await detectProvider({}, { probe: async (url) => (url.includes('11434') ? ['qwen3:8b'] : ['x']) });
    expect(ollama).toEqual({
      name: 'ollama',
      kind: 'openai',
      base_url: 'http://127.0.0.1:11434/v1',
      models: ['qwen3:8b', '*'],
    });
    const llama = await detectProvider({}, { probe: async (url) => (url.includes('8080') ? ['default'] : []) });
    expect(llama.name).toBe('llama.cpp');
    expect(await createModels({ providers: [ollama], env: {} }).resolve()).toMatchObject({ model: 'qwen3:8b' });
  });

  it('asks a server for its models, and does not wait for one that is no model server', async () => {
    const server = await streamServer((response, count) => {
      if (count === 1) response.end('{"data":[{"id":"a"},{"id":"b"},{}]}');
      else if (count === 2) response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      else if (count === 3) response.writeHead(404).end();
    });
    try {
      expect(await askForModels(server.url)).toEqual(['a', 'b']);
      expect(await askForModels(server.url)).toBeUndefined();
      expect(await askForModels(server.url)).toBeUndefined();
      expect(await askForModels(server.url)).toBeUndefined();
    } finally {
      await server.close();
    }
    expect(await askForModels('http://127.0.0.1:9/v1')).toBeUndefined();
  });

  it('says the three shortest ways on when there is nothing', async () => {
    await expect(detectProvider({}, { probe: silent })).rejects.toMatchObject({
      code: 'config',
      hint: expect.stringMatching(/API_KEY.*; .*ollama.*; .*\[\[providers\]\]/),
    });
  });
});
