import { resolve as resolvePath } from 'node:path';
import { ReasonixError } from '../core/errors.ts';
import type { Price } from '../core/usage.ts';
import { sharedBackoff } from './backoff.ts';
import { systemClock } from './clock.ts';
import type { ModelClient, Models, ProviderSettings, ResolvedModel } from './contract.ts';
import { defaultLimits } from './default-limits.ts';
import { type Candidate, FallbackClient } from './fallback.ts';
import { findModel, type Located, nameOf } from './find-model.ts';
import { hostOf } from './hosts.ts';
import { keyVariableOf } from './key-variable.ts';
import { priceOf } from './prices.ts';
import { processRateLimit, type RateLimit } from './rate-limit.ts';
import { type RetryOptions, withRetry } from './retry.ts';
import { DEFAULT_CONTEXT_WINDOW, windowOf } from './windows.ts';
import { secretsOf, type WireOptions } from './wire.ts';

export interface ModelsOptions {
  providers: readonly ProviderSettings[];
  /** What `resolve()` finds; default the first provider's first model. */
  defaultModel?: string | undefined;
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Folder that relative `script` paths start from; default the current one. */
  cwd?: string | undefined;
  retry?: Omit<RetryOptions, 'backoff' | 'rate'> | undefined;
  /** Keeps the requests of providers with `requests_per_minute` within it; default one over this process. */
  rateLimit?: RateLimit | undefined;
  /** Milliseconds without a byte after which a stream is given up; default 300,000. */
  idleTimeout?: number | undefined;
  /** Names of models that are asked, in order, when one fails for good; default none. */
  fallbackModels?: readonly string[] | undefined;
  /** Providers by name that must not be asked, with what whoever asks for one is told; default none. */
  refused?: ReadonlyMap<string, ReasonixError> | undefined;
  /** Knows the list prices of well-known models; default true. */
  defaultPrices?: boolean | undefined;
}

/** The models of a list of providers. Each provider is built once, when it is first asked. */
export function createModels(options: ModelsOptions): Models {
  return new ProviderModels(options);
}

/** Models for one client that exists already, under any name: a scripted model in a test. */
export function modelsOf(
  client: ModelClient,
  options: { model?: string; contextWindow?: number | undefined; retry?: RetryOptions | undefined } = {},
): Models {
  const { model = client.provider, contextWindow = DEFAULT_CONTEXT_WINDOW } = options;
  const retrying = withRetry(client, options.retry);
  return {
    resolve: async (name = model) => ({
      client: retrying,
      provider: client.provider,
      model: name.startsWith(`${client.provider}/`) ? name.slice(client.provider.length + 1) : name,
      contextWindow,
      isWindowKnown: options.contextWindow !== undefined,
      price: undefined,
    }),
  };
}

class ProviderModels implements Models {
  readonly #options: ModelsOptions;
  readonly #clients = new Map<string, Promise<ModelClient>>();
  /** By `provider/model`: what is known of a model that failed is known to all its sessions. */
  readonly #withFallbacks = new Map<string, FallbackClient>();

  constructor(options: ModelsOptions) {
    this.#options = options;
  }

  async resolve(name?: string): Promise<ResolvedModel> {
    const found = findModel(name || this.#options.defaultModel || undefined, this.#options.providers);
    const { settings, model } = found;
    const fallbacks = this.#fallbacksOf(found);
    const resolved = { provider: settings.name, model, ...windowOf(settings, model), price: this.#price(found) };
    if (fallbacks.length === 0) return { client: await this.#client(settings), ...resolved };
    const client = this.#fallbackClient(found, fallbacks);
    return {
      client,
      ...resolved,
      fallbacks: fallbacks.map((each) => ({
        name: nameOf(each),
        price: this.#price(each),
        ...windowOf(each.settings, each.model),
      })),
      next: (tokens) => client.next(tokens),
    };
  }

  #price({ settings, model }: Located): Price | undefined {
    return priceOf(settings, model, this.#options.defaultPrices);
  }

  #fallbacksOf(first: Located): Located[] {
    const names = new Set([nameOf(first)]);
    return (this.#options.fallbackModels ?? []).flatMap((name) => {
      const found = findModel(name, this.#options.providers);
      if (names.has(nameOf(found))) return [];
      names.add(nameOf(found));
      return [found];
    });
  }

  #fallbackClient(first: Located, fallbacks: readonly Located[]): FallbackClient {
    const name = nameOf(first);
    let client = this.#withFallbacks.get(name);
    if (!client) {
      const candidate = (located: Located): Candidate => ({
        name: nameOf(located),
        model: located.model,
        window: windowOf(located.settings, located.model),
        client: () => this.#client(located.settings),
      });
      const clock = this.#options.retry?.clock ?? systemClock;
      const candidates = [candidate(first), ...fallbacks.map(candidate)] as const;
      client = new FallbackClient(first.settings.name, candidates, clock);
      this.#withFallbacks.set(name, client);
    }
    return client;
  }

  #client(settings: ProviderSettings): Promise<ModelClient> {
    let client = this.#clients.get(settings.name);
    if (!client) {
      client = this.#build(settings);
      this.#clients.set(settings.name, client);
      client.catch(() => this.#clients.delete(settings.name));
    }
    return client;
  }

  async #build(settings: ProviderSettings): Promise<ModelClient> {
    const refusal = this.#options.refused?.get(settings.name);
    if (refusal !== undefined) throw refusal;
    const { idleTimeout } = this.#options;
    const retry = { ...this.#options.retry, rate: this.#rate(settings) };
    const clock = retry.clock ?? systemClock;
    if (settings.kind === 'scripted') {
      const client = await loadScripted(settings, { cwd: this.#options.cwd, idleTimeout });
      return withRetry(client, { ...retry, backoff: undefined });
    }
    const wire = this.#wire(settings);
    const client = await wireClient(settings.kind, wire);
    // Both wires of OpenAI share the limits of their key.
    const server = `${settings.kind === 'responses' ? 'openai' : settings.kind} ${settings.base_url ?? ''}`;
    return withRetry(client, {
      ...retry,
      backoff: sharedBackoff(server, wire.apiKey, clock),
      secrets: secretsOf(wire),
      keyVariable: wire.keyVariable,
      baseUrl: wire.baseUrl,
    });
  }

  #rate({ requests_per_minute: perMinute = 0 }: ProviderSettings): RetryOptions['rate'] {
    const { rateLimit: limit = processRateLimit } = this.#options;
    return perMinute > 0 ? { limit, perMinute } : undefined;
  }

  #wire(settings: ProviderSettings): WireOptions {
    const keyVariable = keyVariableOf(settings);
    const apiKey = keyVariable === undefined ? undefined : this.#options.env?.[keyVariable]?.trim() || undefined;
    if (keyVariable !== undefined && apiKey === undefined) {
      throw new ReasonixError('provider_auth', `the provider ${settings.name} has no key: ${keyVariable} is not set`, {
        hint: `set ${keyVariable} in the environment, or name another variable as api_key_env`,
        details: { provider: settings.name, variable: keyVariable, retryable: false },
      });
    }
    return {
      name: settings.name,
      baseUrl: settings.base_url,
      apiKey,
      keyVariable,
      headers: settings.headers,
      maxOutputTokens: settings.max_output_tokens,
      mostOutput: (model) => defaultLimits(hostOf(settings), model)?.output,
      effort: settings.effort,
      thinking: settings.thinking,
      parallelTools: settings.parallel_tools,
      images: settings.images,
      stream: settings.stream,
      idleTimeout: this.#options.idleTimeout,
      answerTimeout: this.#options.retry?.deadline,
    };
  }
}

async function wireClient(
  kind: Exclude<ProviderSettings['kind'], 'scripted'>,
  wire: WireOptions,
): Promise<ModelClient> {
  switch (kind) {
    case 'openai':
      return (await import('./openai.ts')).openaiClient(wire);
    case 'responses':
      return (await import('./responses.ts')).responsesClient(wire);
    case 'anthropic':
      return (await import('./anthropic.ts')).anthropicClient(wire);
  }
}

async function loadScripted(
  settings: ProviderSettings,
  options: { cwd: string | undefined; idleTimeout: number | undefined },
): Promise<ModelClient> {
  if (!settings.script) {
    throw new ReasonixError('config', `the provider ${settings.name} is scripted and names no script`, {
      hint: 'set `script` to the path of a YAML file of rules',
    });
  }
  const { loadScript } = await import('./scripted.ts');
  const path = resolvePath(options.cwd ?? '', settings.script);
  return loadScript(path, { provider: settings.name, idleTimeout: options.idleTimeout });
}
