import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { maskSecrets } from '../../models/secrets.ts';
import { commandEnvironment } from '../shell-environment.ts';
import { expandVariables, type McpServerSettings } from './settings.ts';

/** A shorter value may stand in any text by chance. */
const SHORTEST_SECRET = 8;

type Environment = Readonly<Record<string, string | undefined>>;

/** What the settings of a server come to with the variables of an environment. */
export class Connection {
  readonly #settings: McpServerSettings;
  readonly #env: Environment;
  readonly #cwd: string;
  readonly #missing = new Set<string>();
  readonly #secrets = new Set<string>();

  constructor(settings: McpServerSettings, { env, cwd }: { env: Environment; cwd: string }) {
    this.#settings = settings;
    this.#env = env;
    this.#cwd = cwd;
  }

  /** A text about the server, perhaps by itself, without what it was sent in secret. */
  masked(text: string): string {
    return maskSecrets(text, [...this.#secrets]);
  }

  /** @throws when the settings cannot be used */
  async transport(): Promise<Transport> {
    return this.#settings.url === undefined ? this.#program() : this.#address(this.#settings.url);
  }

  async #address(url: string): Promise<Transport> {
    const headers = this.#given(this.#settings.headers ?? {});
    for (const value of Object.values(headers)) this.#keepSecret(value, ...value.split(/\s+/));
    for (const [, name = ''] of url.matchAll(/\$\{(\w+)/g)) this.#keepSecret(this.#env[name] ?? '');
    const address = this.#expanded(url);
    this.#complain();
    checkHeaders(headers);
    const { HttpTransport } = await import('./http-transport.ts');
    return new HttpTransport(checkedAddress(address), headers) as Transport;
  }

  async #program(): Promise<Transport> {
    const { command = '', args = [], env = {}, pass_env: passed = [], cwd } = this.#settings;
    const { StdioTransport } = await import('./stdio-transport.ts');
    const harmless = commandEnvironment({ ...this.#env });
    for (const [name, value] of Object.entries(this.#env))
      if (harmless[name] === undefined) this.#keepSecret(value ?? '');
    const options = {
      command: this.#expanded(command),
      args: args.map((text) => this.#expanded(text)),
      env: { ...commandEnvironment({ ...this.#env }, { keep: passed }), ...this.#given(env) },
      cwd: cwd ?? this.#cwd,
    };
    this.#complain();
    return new StdioTransport(options);
  }

  #expanded(text: string): string {
    return expandVariables(text, this.#env, (name) => this.#missing.add(name));
  }

  #given(values: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(Object.entries(values).map(([name, text]) => [name, this.#expanded(text)]));
  }

  #keepSecret(...values: readonly string[]): void {
    for (const value of values) if (value.length >= SHORTEST_SECRET) this.#secrets.add(value);
  }

  #complain(): void {
    if (this.#missing.size > 0) throw new Error(`these variables are not set: ${[...this.#missing].join(', ')}`);
  }
}

/** @throws before `fetch` does, whose message holds the value */
function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers({ [name]: value });
    } catch {
      throw new Error(
        `HTTP takes no header ${JSON.stringify(name)} of this value: a line break or another odd character is in it`,
      );
    }
  }
}

function checkedAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Error('its url is no http or https address: check it, and the variables in it');
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('its url holds credentials: send them with headers.Authorization instead');
  }
  return url;
}
