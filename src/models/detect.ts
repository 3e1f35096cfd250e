import { ReasonixError } from '../core/errors.ts';
import type { ProviderSettings } from './contract.ts';

/** Milliseconds that a server on this machine has to say that it is there. */
const PROBE_TIME = 200;

type Environment = Readonly<Record<string, string | undefined>>;

/** The names of the models of a server, or `undefined` when it does not answer. */
export type Probe = (baseUrl: string) => Promise<string[] | undefined>;

/** Hosted providers, by the variable that holds their key, in the order in which they are looked for. */
const HOSTED: readonly { variable: string; settings(env: Environment): ProviderSettings }[] = [
  {
    variable: 'ANTHROPIC_API_KEY',
    settings: (env) => ({
      name: 'anthropic',
      kind: 'anthropic',
      ...baseUrl(env.ANTHROPIC_BASE_URL),
      models: ['claude-sonnet-5', '*'],
      context_window: 200_000,
    }),
  },
  {
    variable: 'OPENAI_API_KEY',
    settings: (env) => ({ name: 'openai', kind: 'openai', ...baseUrl(env.OPENAI_BASE_URL), models: ['gpt-5.4', '*'] }),
  },
  {
    variable: 'DEEPSEEK_API_KEY',
    settings: () => ({
      name: 'deepseek',
      kind: 'openai',
      base_url: 'https://api.deepseek.com',
      models: ['deepseek-v4-flash', 'deepseek-v4-pro', '*'],
    }),
  },
  {
    variable: 'OPENROUTER_API_KEY',
    settings: () => ({
      name: 'openrouter',
      kind: 'openai',
      base_url: 'https://openrouter.ai/api/v1',
      models: ['openrouter/auto', '*'],
    }),
  },
];

/** Servers on this machine. */
const LOCAL: readonly { name: string; base_url: string }[] = [
  { name: 'ollama', base_url: 'http://127.0.0.1:11434/v1' },
  { name: 'llama.cpp', base_url: 'http://127.0.0.1:8080/v1' },
];

/**
 * The provider to use when nothing is configured: by the keys in the environment, else a model server
 * on this machine. Any model name is accepted for it; the first of `models` is the default.
 * @throws ReasonixError `config` with the three shortest ways on.
 */
export async function detectProvider(
  env: Environment,
  options: { probe?: Probe | undefined } = {},
): Promise<ProviderSettings> {
  const { probe = askForModels } = options;
  for (const { variable, settings } of HOSTED) {
    if (env[variable]?.trim()) return { ...settings(env), api_key_env: variable };
  }
  const found = await Promise.all(LOCAL.map(async (server) => ({ server, models: await probe(server.base_url) })));
  for (const { server, models } of found) {
    if (models && models.length > 0) return { ...server, kind: 'openai', models: [...models, '*'] };
  }
  throw new ReasonixError(
    'config',
    'no model provider was found: no key in the environment, no model server on this machine',
    {
      hint: `set ${HOSTED.map(({ variable }) => variable).join(', ')}; or start \`ollama serve\`; or fill in a [[providers]] entry in reasonix.toml (\`reasonix init\` writes one)`,
    },
  );
}

function baseUrl(value: string | undefined): { base_url?: string } {
  return value?.trim() ? { base_url: value.trim() } : {};
}

/** The default probe: asks an OpenAI-compatible server for the names of its models, for at most 200 ms. */
export async function askForModels(url: string): Promise<string[] | undefined> {
  try {
    const response = await fetch(`${url}/models`, { signal: AbortSignal.timeout(PROBE_TIME), redirect: 'error' });
    if (!response.ok) return undefined;
    const body = (await response.json()) as { data?: { id?: unknown }[] } | null;
    if (!Array.isArray(body?.data)) return undefined;
    return body.data.flatMap((model) => (typeof model?.id === 'string' ? [model.id] : []));
  } catch {
    return undefined;
  }
}
