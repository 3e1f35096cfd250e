import { join, resolve } from 'node:path';
import { assemble, checkEntries } from './assemble.ts';
import type { Config } from './config.ts';
import type { ConfigValue } from './key-spec.ts';
import { specOf } from './keys.ts';
import { isEmptyLayer, type Layer } from './layer.ts';
import { leaveToSettings, MCP_JSON, readMcpJson } from './mcp-json.ts';
import { readEnvironment, readOverrides } from './outside.ts';
import {
  type FolderOptions,
  type Folders,
  findFolders,
  nearestFiles,
  projectFiles,
  projectFolders,
  projectScorpioxFiles,
  readSettings,
  SCORPIOX_FILE,
} from './places.ts';
import { type ConfigNote, configError, type Place, type Problem, type Tier, throwIfAny } from './problems.ts';
import { type ProfileChoice, type ProfileSources, readProfile } from './profiles.ts';
import { readScorpiox } from './scorpiox.ts';
import { readToml } from './toml.ts';
import { expectation, isProfileName } from './values.ts';

export interface LoadOptions extends FolderOptions {
  /** The environment; none by default, so that a caller decides what is seen. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** `KEY=VALUE` texts of the command line, the strongest tier; the last one for a key counts. */
  overrides?: readonly string[] | undefined;
  /** A TOML file to read in place of every file of the project. */
  configFile?: string | undefined;
  /** Profile to use; `off` for none. Default: as configured. */
  profile?: string | undefined;
}

/** Where the value in force comes from. `path` and `line` are of a file, `name` is the spelling used. */
export interface ValueSource extends Place {
  value: ConfigValue;
}

export interface LoadedConfig {
  config: Config;
  /** By dotted key, defaults included; a key that nobody sets and that has no default is absent. */
  sources: ReadonlyMap<string, ValueSource>;
  /** What each place sets, highest first. */
  layers: readonly Layer[];
  notes: readonly ConfigNote[];
  /** Files that were read, highest first. */
  files: readonly { tier: Tier; path: string }[];
  folders: Folders;
  /** Somebody named the file that is read in place of the project's, and so vouches for all that it says. */
  isVouched: boolean;
}

interface FileTier {
  layers: Layer[];
  profiles: Map<string, Layer>[];
}

/**
 * Resolves the configuration key by key: command line, environment, profile, project, user, defaults.
 * Nothing is cached; without any file no parser is loaded.
 * @throws ReasonixError `config` naming tier, file, line and what was expected; all problems at once.
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const folders = findFolders(options);
  const problems: Problem[] = [];
  const notes: ConfigNote[] = [];
  const outside = { base: folders.cwd, home: folders.home };

  const flags = readOverrides(options.overrides ?? [], outside);
  const environment = readEnvironment(options.env ?? {}, outside);
  problems.push(...flags.problems, ...environment.problems);
  notes.push(...environment.notes);

  const files = new FileReader(folders, problems, notes);
  const project = options.configFile
    ? await files.explicit(resolve(folders.cwd, options.configFile))
    : await files.project();
  const user = await files.user();
  // What is wrong in these files matters more than a profile that they were to choose.
  throwIfAny(problems);

  const above = [flags.layer, environment.layer];
  const below = [...project.tier.layers, ...user.layers];
  leaveToSettings(below, notes);
  const choice = chooseProfile(options.profile, [...above, ...below]);
  const layers = [...above, ...below];
  if (choice && choice.profile !== 'off') {
    const sources: ProfileSources = {
      project: project.tier.profiles,
      user: user.profiles,
      scorpioxFolder: project.scorpioxFolder,
    };
    const profile = await readProfile(choice, sources, folders);
    problems.push(...profile.problems);
    notes.push(...profile.notes);
    layers.splice(above.length, 0, ...profile.layers);
  }

  const { config, sources } = assemble(layers);
  problems.push(...checkEntries(config, sources));
  throwIfAny(problems);
  const used = layers.filter((layer) => !isEmptyLayer(layer));
  const isVouched = options.configFile !== undefined;
  return { config, sources, layers: used, notes, files: readFiles(files.read, layers), folders, isVouched };
}

function chooseProfile(flag: string | undefined, layers: readonly Layer[]): ProfileChoice | undefined {
  if (flag) {
    const place: Place = { tier: 'flag', name: '--profile' };
    // The name becomes part of a path.
    if (!isProfileName(flag))
      throw configError([{ ...place, message: `expected ${expectation(specOf(['profile'])!)}` }]);
    layers[0]!.values.set('profile', { ...place, key: ['profile'], value: flag });
    return { ...place, profile: flag };
  }
  for (const layer of layers) {
    const found = layer.values.get('profile');
    if (found) return { ...found, profile: String(found.value) };
  }
  return undefined;
}

/** Profile files too, in the place their layer has. */
function readFiles(read: readonly { tier: Tier; path: string }[], layers: readonly Layer[]): LoadedConfig['files'] {
  const files: { tier: Tier; path: string }[] = [];
  for (const { tier, path } of layers) {
    if (path !== undefined && !files.some((file) => file.path === path && file.tier === tier))
      files.push({ tier, path });
  }
  for (const file of read) if (!files.some((known) => known.path === file.path)) files.push(file);
  return files;
}

/** Reads the files of the project and the user, collecting what is wrong with them. */
class FileReader {
  readonly #folders: Folders;
  readonly #problems: Problem[];
  readonly #notes: ConfigNote[];
  readonly read: { tier: Tier; path: string }[] = [];

  constructor(folders: Folders, problems: Problem[], notes: ConfigNote[]) {
    this.#folders = folders;
    this.#problems = problems;
    this.#notes = notes;
  }

  async explicit(path: string): Promise<{ tier: FileTier; scorpioxFolder: undefined }> {
    const tier: FileTier = { layers: [], profiles: [] };
    const found = await this.#toml(path, 'project', resolve(path, '..'), tier);
    if (!found) {
      const problem: Problem = { tier: 'flag', name: '--config', message: `there is no file ${path}` };
      throw configError([problem], undefined, 'name a TOML file, or leave --config out to read those of the folder');
    }
    return { tier, scorpioxFolder: undefined };
  }

  async project(): Promise<{ tier: FileTier; scorpioxFolder: string | undefined }> {
    const { cwd, home, reasonixHome } = this.#folders;
    const folders = projectFolders(cwd);
    const tier: FileTier = { layers: [], profiles: [] };
    const toml = projectFiles(folders, join(reasonixHome, 'config.toml'));
    for (const path of toml?.paths ?? []) await this.#toml(path, 'project', toml!.folder, tier);
    const userScorpiox = join(home, '.claude', SCORPIOX_FILE);
    const scorpiox = projectScorpioxFiles(folders, userScorpiox);
    for (const path of scorpiox?.paths ?? []) this.#scorpiox(path, 'project', scorpiox!.folder, tier);
    const servers = nearestFiles(folders, [MCP_JSON], '');
    for (const path of servers?.paths ?? []) this.#mcpJson(path, tier);
    const profiles = nearestFiles(folders, [join('.scorpiox', 'scorpiox-env')], '');
    return { tier, scorpioxFolder: profiles?.folder };
  }

  async user(): Promise<FileTier> {
    const { home, reasonixHome } = this.#folders;
    const tier: FileTier = { layers: [], profiles: [] };
    await this.#toml(join(reasonixHome, 'config.toml'), 'user', reasonixHome, tier);
    this.#scorpiox(join(home, '.claude', SCORPIOX_FILE), 'user', home, tier);
    return tier;
  }

  async #toml(path: string, tier: Tier, base: string, into: FileTier): Promise<boolean> {
    const text = readSettings(path, { tier });
    if (text === undefined) return false;
    const read = await readToml({ path, text, tier, base, home: this.#folders.home });
    this.#problems.push(...read.problems);
    into.layers.push(read.layer);
    into.profiles.push(read.profiles);
    this.read.push({ tier, path });
    return true;
  }

  #mcpJson(path: string, into: FileTier): void {
    const text = readSettings(path, { tier: 'project' });
    if (text === undefined) return;
    const read = readMcpJson(path, text);
    this.#notes.push(...read.notes);
    into.layers.push(read.layer);
    this.read.push({ tier: 'project', path });
  }

  #scorpiox(path: string, tier: Tier, base: string, into: FileTier): void {
    const text = readSettings(path, { tier });
    if (text === undefined) return;
    const read = readScorpiox({ path, text, tier, base, home: this.#folders.home });
    this.#problems.push(...read.problems);
    this.#notes.push(...read.notes);
    into.layers.push(read.layer);
    this.read.push({ tier, path });
  }
}
