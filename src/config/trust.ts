import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ReasonixError } from '../core/errors.ts';
import type { HookSettings } from '../core/hook-settings.ts';
import type { ProviderSettings } from '../models/contract.ts';
import { isVendorOrLocal } from '../models/hosts.ts';
import { keyVariableOf } from '../models/key-variable.ts';
import type { McpServerSettings } from '../tools/mcp/settings.ts';
import { assemble } from './assemble.ts';
import type { LoadedConfig } from './cascade.ts';
import { maskAddresses } from './mask.ts';
import { type Folders, projectFolders } from './places.ts';
import { describePlace, type Place } from './problems.ts';
import { hasOwnPassword, isOnThisMachine } from './server-address.ts';

/** Something that a project's own files would have this machine run, or a place they would have a key or a password sent to. */
export interface ProjectCommand {
  kind: 'mcp' | 'hooks' | 'providers' | 'store';
  /** Of the entry, or of the key that holds an address. */
  name: string;
  /** What would run, or which address would get what. */
  text: string;
  /** The file that says so. */
  place: string;
  isTrusted: boolean;
}

export interface Trusted {
  mcp: McpServerSettings[];
  hooks: HookSettings[];
  /** Of the project, allowed or not. What is neither server nor hook is refused where it is used: see below. */
  commands: ProjectCommand[];
}

/**
 * Parts what may run from what a project asks for and nobody allowed: to clone a repository must not be
 * to run its commands. An entry is allowed as it stands; changed, it has to be allowed again.
 */
export function trustedCommands(loaded: LoadedConfig, trustAll = false): Trusted {
  const known = knownOf(loaded);
  const isVouched = trustAll || loaded.isVouched;
  const commands = isVouched ? [] : [...keyReceivers(loaded, known), ...passwordReceivers(loaded, known)];
  const allowed = <Entry extends McpServerSettings | HookSettings>(kind: ProjectCommand['kind'], entries: Entry[]) =>
    entries.filter((entry) => {
      const place = foreignPlace(loaded, kind, entry.name);
      if (place === undefined || isVouched) return true;
      const isTrusted = known.has(fingerprint(kind, entry));
      commands.push({ kind, name: entry.name, text: textOf(entry), place, isTrusted });
      return isTrusted;
    });
  const mcp = allowed('mcp', loaded.config.mcp);
  const hooks = allowed('hooks', loaded.config.hooks);
  const refused = commands.filter(({ kind, isTrusted }) => !isTrusted && (kind === 'mcp' || kind === 'hooks'));
  if (refused.length === 0) return { mcp, hooks, commands };
  const own = withoutProject(loaded, refused);
  return { mcp: [...mcp, ...own.mcp], hooks: [...hooks, ...own.hooks], commands };
}

/**
 * Providers whose address a project's file chose, by name, with why they get no key: a cloned repository
 * must not have the keys of its user sent to whom it likes. The vendors' own addresses and this machine
 * need no word.
 */
export function refusedProviders(loaded: LoadedConfig, trustAll = false): ReadonlyMap<string, ReasonixError> {
  return new Map(
    waitingFor(keyReceivers, loaded, trustAll).map((each) => {
      const { name } = each;
      return [name, refusal(each, `the provider ${name}`, { provider: name, retryable: false })];
    }),
  );
}

function keyReceivers(loaded: LoadedConfig, known: ReadonlySet<string>): ProjectCommand[] {
  return loaded.config.providers.flatMap((provider): ProjectCommand[] => {
    const { name, base_url: url, headers = {} } = provider;
    const variable = keyVariableOf(provider);
    if (url === undefined || isVendorOrLocal(url)) return [];
    if (variable === undefined && Object.keys(headers).length === 0) return [];
    const place = foreignPlace(loaded, 'providers', name, 'base_url');
    if (place === undefined) return [];
    const sent = [...(variable === undefined ? [] : [`the key in ${variable}`]), ...Object.keys(headers)].join(', ');
    const isTrusted = known.has(fingerprint('providers', receiverOf(provider)));
    return [{ kind: 'providers', name, text: `sends ${sent} to ${maskAddresses(url)}`, place, isTrusted }];
  });
}

/** What a word on a provider is about: other models or prices need no new one. */
const receiverOf = ({ name, kind, base_url, api_key_env, headers }: ProviderSettings) => ({
  name,
  kind,
  base_url,
  api_key_env,
  headers,
});

/**
 * The password that the environment has for Postgres goes to no other machine because a cloned repository
 * says so.
 * @throws ReasonixError `config` for an address that would get it and waits to be allowed.
 */
export function checkStore(loaded: LoadedConfig, trustAll = false): void {
  const [waiting] = waitingFor(passwordReceivers, loaded, trustAll);
  if (waiting) throw refusal(waiting, waiting.name, { key: waiting.name });
}

/** The driver reads the environment of the process, whatever the caller has in place of it. */
function passwordReceivers(loaded: LoadedConfig, known: ReadonlySet<string>): ProjectCommand[] {
  if (!process.env.PGPASSWORD) return [];
  return storeAddresses(loaded).flatMap(({ name, url }): ProjectCommand[] => {
    const source = loaded.sources.get(name);
    if (source === undefined || !isForeign(source, loaded.folders)) return [];
    if (isOnThisMachine(url) || hasOwnPassword(url)) return [];
    const isTrusted = known.has(fingerprint('store', { name, url }));
    const text = `sends PGPASSWORD to ${maskAddresses(url)}`;
    return [{ kind: 'store', name, text, place: describePlace(source), isTrusted }];
  });
}

function storeAddresses({ config: { store } }: LoadedConfig): { name: string; url: string }[] {
  const addresses = { 'store.url': store.url, 'store.listen_url': store.listen_url };
  return Object.entries(addresses).flatMap(([name, url]) => (url === undefined ? [] : [{ name, url }]));
}

/** What of a kind was not allowed; nothing where somebody vouches for the project. */
function waitingFor(
  kind: (loaded: LoadedConfig, known: ReadonlySet<string>) => ProjectCommand[],
  loaded: LoadedConfig,
  trustAll: boolean,
): ProjectCommand[] {
  if (trustAll || loaded.isVouched) return [];
  return kind(loaded, knownOf(loaded)).filter(({ isTrusted }) => !isTrusted);
}

const refusal = ({ text, place }: ProjectCommand, what: string, details: Record<string, unknown>): ReasonixError =>
  new ReasonixError('config', `${what} waits for your word: it ${text}`, {
    hint: `look at ${place}, and allow it with: reasonix config trust`,
    details,
  });

/**
 * What the user's own files say of entries that a project would change: a cloned repository must not
 * switch off a hook of its user by naming one like it.
 */
function withoutProject(
  { layers, folders }: LoadedConfig,
  refused: readonly ProjectCommand[],
): Omit<Trusted, 'commands'> {
  const isRefused = (kind: string, name: string) => refused.some((each) => each.kind === kind && each.name === name);
  const own = layers
    .filter((layer) => !isForeign(layer, folders))
    .map((layer) => ({
      ...layer,
      values: new Map([...layer.values].filter(([, { key }]) => isRefused(key[0] ?? '', key[1] ?? ''))),
    }));
  const { mcp, hooks } = assemble(own).config;
  return {
    mcp: mcp.filter(({ name, command, url }) => isRefused('mcp', name) && (command ?? url) !== undefined),
    hooks: hooks.filter(
      ({ name, command, on }) => isRefused('hooks', name) && command !== undefined && on !== undefined,
    ),
  };
}

/** Allows everything that the project asks for now, and nothing that it asked for before. */
export function trustProject(loaded: LoadedConfig): ProjectCommand[] {
  const { commands } = trustedCommands(loaded);
  const { mcp, hooks, providers } = loaded.config;
  const entries: Record<ProjectCommand['kind'], { name: string }[]> = {
    mcp,
    hooks,
    providers: providers.map(receiverOf),
    store: storeAddresses(loaded),
  };
  const entryOf = ({ kind, name }: ProjectCommand) => entries[kind].find((entry) => entry.name === name) ?? {};
  const prints = commands.map((command) => fingerprint(command.kind, entryOf(command)));
  const all = { ...readTrust(loaded), [projectOf(loaded)]: prints };
  if (prints.length === 0) delete all[projectOf(loaded)];
  const { reasonixHome } = loaded.folders;
  mkdirSync(reasonixHome, { recursive: true, mode: 0o700 });
  const path = pathOf(loaded);
  writeFileSync(`${path}.${process.pid}`, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.${process.pid}`, path);
  return commands;
}

const pathOf = ({ folders }: LoadedConfig): string => join(folders.reasonixHome, 'trusted.json');

const projectOf = ({ folders }: LoadedConfig): string => projectFolders(folders.cwd).at(-1) ?? folders.cwd;

/** Fingerprints of what the user allowed this project. */
const knownOf = (loaded: LoadedConfig): ReadonlySet<string> => new Set(readTrust(loaded)[projectOf(loaded)]);

function readTrust(loaded: LoadedConfig): Record<string, string[]> {
  try {
    const value: unknown = JSON.parse(readFileSync(pathOf(loaded), 'utf8'));
    if (typeof value !== 'object' || value === null) return {};
    const entries = Object.entries(value).filter(
      (entry): entry is [string, string[]] =>
        Array.isArray(entry[1]) && entry[1].every((one) => typeof one === 'string'),
    );
    return Object.fromEntries(entries);
  } catch {
    // A missing or damaged file allows nothing.
    return {};
  }
}

/** The project's file that has a part in an entry, or in one key of it; none when that is the user's own from end to end. */
function foreignPlace(
  { sources, folders }: LoadedConfig,
  kind: ProjectCommand['kind'],
  name: string,
  part = '',
): string | undefined {
  for (const [key, source] of sources) {
    if (!key.startsWith(`${kind}.`)) continue;
    const isEntry = [name, JSON.stringify(name)].some((each) => key.startsWith(`${kind}.${each}.${part}`));
    if (isEntry && isForeign(source, folders)) return describePlace(source);
  }
  return undefined;
}

/** The user's own profiles are in the settings folder; a project may well lie beside or below it. */
function isForeign({ tier, path }: Pick<Place, 'tier' | 'path'>, { reasonixHome, home }: Folders): boolean {
  if (path === undefined || (tier !== 'project' && tier !== 'profile')) return false;
  const own = [reasonixHome, join(reasonixHome, 'profiles'), join(home, '.claude', 'scorpiox-env')];
  return tier === 'project' || !own.includes(dirname(path));
}

function fingerprint(kind: ProjectCommand['kind'], entry: object): string {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== 'object' || value === null) return value;
    return Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]);
  };
  return createHash('sha256')
    .update(JSON.stringify([kind, sorted(entry)]))
    .digest('hex');
}

function textOf(entry: McpServerSettings | HookSettings): string {
  if ('on' in entry) return `${entry.command} (at ${entry.on.join(', ')})`;
  const { url, command, args = [], env = {}, headers = {}, pass_env: passed = [], cwd } = entry as McpServerSettings;
  const texts = [url ?? command ?? '', ...args, ...Object.values(env), ...Object.values(headers)];
  const asked = texts.flatMap((text) => [...text.matchAll(/\$\{([A-Za-z_]\w*)/g)].map((match) => match[1] ?? ''));
  const gets = [...new Set([...passed, ...asked])];
  return [
    url ?? [command, ...args].join(' '),
    ...(gets.length > 0 ? [`gets ${gets.join(', ')} of your environment`] : []),
    ...(Object.keys(env).length > 0 ? [`sets ${Object.keys(env).join(', ')}`] : []),
    ...(cwd === undefined ? [] : [`runs in ${cwd}`]),
  ].join('; ');
}
