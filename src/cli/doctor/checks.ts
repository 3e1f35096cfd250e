import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/cascade.ts';
import { maskAddresses } from '../../config/mask.ts';
import { describePlace } from '../../config/problems.ts';
import { refusedProviders } from '../../config/trust.ts';
import { messageOf, ReasonixError } from '../../core/errors.ts';
import { libraryOptions } from '../../runtime/places.ts';
import { openLibrary } from '../../skills/library.ts';
import { plural } from '../format.ts';
import { loadSettings, type SettingsFlags } from '../settings.ts';
import { outsideChecks } from './outside-checks.ts';

/** One thing that a run needs. `note` is worth knowing and stops nothing. */
export interface Check {
  name: string;
  state: 'ok' | 'note' | 'broken';
  found: string;
  hint?: string | undefined;
}

const OLDEST_NODE = 20;

/** Everything that can be checked; what needs the configuration is left out when that does not hold. */
export async function checkAll(flags: SettingsFlags): Promise<Check[]> {
  const node = nodeCheck();
  let loaded: LoadedConfig;
  try {
    loaded = await loadSettings(flags);
  } catch (error) {
    return [node, broken('configuration', error), ...(await programChecks())];
  }
  return [
    node,
    await homeCheck(loaded),
    configurationCheck(loaded),
    await storeCheck(loaded),
    ...(await providerChecks(loaded)),
    await skillsCheck(loaded),
    ...(await outsideChecks(loaded)),
    ...(await programChecks()),
  ];
}

function nodeCheck(): Check {
  const isOld = Number(process.versions.node.split('.')[0]) < OLDEST_NODE;
  const found = `${process.version} at ${process.execPath}`;
  return isOld
    ? { name: 'node', state: 'broken', found, hint: `Node ${OLDEST_NODE} or newer is needed` }
    : { name: 'node', state: 'ok', found };
}

async function homeCheck({ folders }: LoadedConfig): Promise<Check> {
  const { reasonixHome } = folders;
  try {
    await mkdir(reasonixHome, { recursive: true, mode: 0o700 });
    await access(reasonixHome, constants.R_OK | constants.W_OK | constants.X_OK);
    return { name: 'home', state: 'ok', found: reasonixHome };
  } catch (error) {
    return broken('home', error, 'make the folder writable, or set REASONIX_HOME to another one');
  }
}

function configurationCheck({ files, notes, config }: LoadedConfig): Check {
  const read = files.map(({ tier, path }) => describePlace({ tier, path }));
  const profile = config.profile === undefined ? [] : [`profile ${config.profile}`];
  const told = notes.map(
    ({ message, path, line }) => `${path === undefined ? '' : `${path}${line ? `:${line}` : ''}: `}${message}`,
  );
  const found = [...(read.length > 0 ? read : ['no files: defaults']), ...profile, ...told].join('\n');
  return { name: 'configuration', state: told.length > 0 ? 'note' : 'ok', found };
}

async function storeCheck(loaded: LoadedConfig): Promise<Check> {
  const odd: string[] = [];
  try {
    const { orphans } = await import('../../subagents/worktree/remove.ts');
    const { openConfiguredStore } = await import('../../runtime/open-store.ts');
    const store = await openConfiguredStore(loaded, (text) => void odd.push(text));
    const { url, path } = loaded.config.store;
    const place = url === undefined ? (path ?? join(loaded.folders.reasonixHome, 'sessions.db')) : maskAddresses(url);
    const { sessions, next } = await store.list({ kind: 'root' }, { limit: 1000 });
    const lost = await orphans(loaded.folders.reasonixHome, store);
    if (lost.length > 0)
      odd.push(
        `folders of sub-agents that are in no log: ${lost.slice(0, 10).join(', ')}${lost.length > 10 ? ', …' : ''}`,
      );
    await store.close();
    const found = [`${place}, ${sessions.length}${next === undefined ? '' : '+'} sessions`, ...odd].join('\n');
    const hint = lost.length > 0 ? `remove what one left behind with: reasonix session rm ${lost[0]}` : undefined;
    return { name: 'store', state: odd.length > 0 ? 'note' : 'ok', found, hint };
  } catch (error) {
    return broken('store', error);
  }
}

/** Keys are looked for, never shown. */
async function providerChecks(loaded: LoadedConfig): Promise<Check[]> {
  const { config } = loaded;
  const { env } = process;
  if (config.providers.length === 0) {
    const { detectProvider } = await import('../../models/detect.ts');
    try {
      const { name, models, api_key_env } = await detectProvider(env);
      const how = api_key_env === undefined ? 'a server on this machine' : `${api_key_env} is set`;
      return [{ name: 'provider', state: 'ok', found: `${name} (${how}), model ${models[0] ?? 'unknown'}` }];
    } catch (error) {
      return [broken('provider', error)];
    }
  }
  const refused = refusedProviders(loaded);
  const checks = config.providers.map(({ name, kind, base_url, models, api_key_env, script }): Check => {
    const refusal = refused.get(name);
    if (refusal) return { name: 'provider', state: 'note', found: refusal.message, hint: refusal.hint };
    const found = `${name}: ${kind}${base_url ? ` at ${base_url}` : ''}, models ${models.join(', ') || 'any'}${script ? `, script ${script}` : ''}`;
    if (api_key_env === undefined) return { name: 'provider', state: 'ok', found };
    if (env[api_key_env]?.trim()) return { name: 'provider', state: 'ok', found: `${found}, ${api_key_env} is set` };
    return {
      name: 'provider',
      state: 'note',
      found: `${found}, ${api_key_env} is not set`,
      hint: `set ${api_key_env} to use it`,
    };
  });
  return [...checks, await modelCheck(loaded, refused)];
}

/** The model that a run without `--model` asks. */
async function modelCheck({ config }: LoadedConfig, refused: ReturnType<typeof refusedProviders>): Promise<Check> {
  const { createModels } = await import('../../models/models.ts');
  const { providers, default_model: defaultModel } = config;
  try {
    const models = createModels({ providers, defaultModel, env: process.env, refused });
    const { provider, model } = await models.resolve();
    return { name: 'model', state: 'ok', found: `${provider}/${model}` };
  } catch (error) {
    return broken('model', error);
  }
}

async function skillsCheck({ config, folders }: LoadedConfig): Promise<Check> {
  const library = await openLibrary(libraryOptions(config, folders));
  const problems = library.diagnostics.filter(({ severity }) => severity !== 'info').length;
  const roots = library.roots.filter(({ status }) => status === 'ok').length;
  const found = `${plural(library.skills.length, 'skill')} in ${plural(roots, 'folder')}${problems > 0 ? `, ${plural(problems, 'problem')}` : ''}`;
  return problems > 0
    ? { name: 'skills', state: 'note', found, hint: 'see: reasonix skill list --explain' }
    : { name: 'skills', state: 'ok', found };
}

async function programChecks(): Promise<Check[]> {
  const { execa } = await import('execa');
  const version = async (file: string): Promise<string> => {
    const { stdout } = await execa(file, ['--version'], { timeout: 10_000 });
    return stdout.split('\n')[0] ?? '';
  };
  const ripgrep = async (): Promise<Check> => {
    try {
      const { rgPath } = await import('@vscode/ripgrep');
      return { name: 'ripgrep', state: 'ok', found: await version(rgPath) };
    } catch (error) {
      return broken('ripgrep', error, 'install the package again: the grep tool needs it');
    }
  };
  const git = async (): Promise<Check> => {
    try {
      return { name: 'git', state: 'ok', found: await version('git') };
    } catch {
      return { name: 'git', state: 'note', found: 'not found', hint: 'only skills that use git need it' };
    }
  };
  return Promise.all([ripgrep(), git()]);
}

function broken(name: string, error: unknown, hint?: string): Check {
  const told = ReasonixError.isInstance(error) ? error.hint : undefined;
  return { name, state: 'broken', found: messageOf(error), hint: hint ?? told };
}
