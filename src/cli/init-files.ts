import { ReasonixError } from '../core/errors.ts';
import type { ProviderSettings } from '../models/contract.ts';
import { detectProvider } from '../models/detect.ts';

/** A sub-agent to start from: small, read-only, and of use at once. */
export const EXAMPLE_SKILL = {
  name: 'overview',
  description:
    'Explain what this project is and where its parts are. Give it a question; it returns an answer with file paths.',
  run_as: 'subagent',
  allowed_tools: ['read_file', 'list_files', 'grep'],
  body: `You explain this project to somebody who is new to it. The question is the user message.

Start with the README and the names of the top folders; then read only what the question needs.

Answer in at most 200 words. Name the files that show it, as path:line.
`,
} as const;

/** A short `reasonix.toml` for the provider that is at hand; without one, the lines to fill in. */
export async function starterToml(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const provider = await found(env);
  return [
    '# Settings of this project. Every key, with its default: reasonix config list, or reasonix.example.toml.',
    '# Keys of providers come from the environment and never stand here.',
    '',
    ...(provider ? providerLines(provider) : commented(providerLines(SAMPLE))),
    '',
    '[agent]',
    'max_depth = 3        # levels of sub-agents',
    'max_concurrent = 6   # sub-agents running at once',
    '# max_cost = 1.00    # of a turn with all its sub-agents; needs prices',
    '',
    '[permissions]',
    '# Reads run; writes ask on a terminal and are refused without one, unless a rule allows them.',
    'allow = []           # such as "shell(git status*)", "write_file"',
    '',
  ].join('\n');
}

const SAMPLE: ProviderSettings = {
  name: 'my-server',
  kind: 'openai',
  base_url: 'http://127.0.0.1:8000/v1',
  models: ['my-model'],
  api_key_env: 'MY_SERVER_KEY',
};

async function found(env: Readonly<Record<string, string | undefined>>): Promise<ProviderSettings | undefined> {
  try {
    return await detectProvider(env);
  } catch (error) {
    if (ReasonixError.isInstance(error)) return undefined;
    throw error;
  }
}

function providerLines({ name, kind, base_url, models, api_key_env }: ProviderSettings): string[] {
  const named = models.filter((model) => model !== '*');
  const quote = (text: string) => JSON.stringify(text);
  return [
    ...(named[0] === undefined ? [] : [`default_model = ${quote(`${name}/${named[0]}`)}`, '']),
    '[[providers]]',
    `name = ${quote(name)}`,
    `kind = ${quote(kind)}`,
    ...(base_url === undefined ? [] : [`base_url = ${quote(base_url)}`]),
    `models = [${models.map(quote).join(', ')}]`,
    ...(api_key_env === undefined ? [] : [`api_key_env = ${quote(api_key_env)}`]),
  ];
}

const commented = (lines: readonly string[]): string[] => lines.map((line) => (line === '' ? '' : `# ${line}`));
