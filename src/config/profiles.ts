import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isEmptyLayer, type Layer } from './layer.ts';
import { nearest } from './nearest.ts';
import { type Folders, readSettings } from './places.ts';
import { type ConfigNote, configError, describePlace, type Place, type Problem } from './problems.ts';
import { readScorpiox } from './scorpiox.ts';
import { readToml } from './toml.ts';

/** The profile that somebody asked for, and where. */
export interface ProfileChoice extends Place {
  profile: string;
}

export interface ProfileSources {
  /** The `[profiles.NAME]` tables of each file, the highest file first. */
  project: readonly ReadonlyMap<string, Layer>[];
  user: readonly ReadonlyMap<string, Layer>[];
  /** Project folder whose `.scorpiox/scorpiox-env/` is looked at. */
  scorpioxFolder: string | undefined;
}

export interface ProfileLayers {
  layers: Layer[];
  problems: Problem[];
  notes: ConfigNote[];
}

/**
 * The layers of a profile, highest first: the project's tables, its SCORPIOX file, the user's tables,
 * `<REASONIX_HOME>/profiles/NAME.toml`, the user's SCORPIOX file. Of the two SCORPIOX files only the
 * first counts, as in that product.
 * @throws ReasonixError `config` when there is no such profile. A dangling `ACTIVE_PROFILE` is only noted.
 */
export async function readProfile(
  choice: ProfileChoice,
  sources: ProfileSources,
  folders: Folders,
): Promise<ProfileLayers> {
  const name = choice.profile;
  const result: ProfileLayers = { layers: [], problems: [], notes: [] };
  const take = (layer: Layer | undefined): void => {
    if (layer) result.layers.push(layer);
  };

  for (const tables of sources.project) take(tables.get(name));
  let hasScorpiox = false;
  const takeScorpiox = (folder: string, base: string): void => {
    const path = join(folder, `${name}.txt`);
    const text = hasScorpiox ? undefined : readSettings(path, { tier: 'profile' });
    if (text === undefined) return;
    hasScorpiox = true;
    const read = readScorpiox({ path, text, tier: 'profile', base, home: folders.home });
    result.problems.push(...read.problems);
    result.notes.push(...read.notes);
    result.layers.push(read.layer);
  };
  if (sources.scorpioxFolder) takeScorpiox(projectProfiles(sources.scorpioxFolder), sources.scorpioxFolder);
  for (const tables of sources.user) take(tables.get(name));
  const path = join(folders.reasonixHome, 'profiles', `${name}.toml`);
  const text = readSettings(path, { tier: 'profile' });
  if (text !== undefined) {
    const read = await readToml({ path, text, tier: 'profile', base: folders.reasonixHome, home: folders.home });
    result.problems.push(...read.problems);
    if (read.layer.values.has('profile') || read.profiles.size > 0) {
      result.problems.push({ tier: 'profile', path, message: 'a profile cannot choose or hold another profile' });
    }
    result.layers.push(read.layer);
  }
  takeScorpiox(userProfiles(folders.home), folders.home);

  if (result.layers.length === 0) missing(choice, sources, folders, result);
  for (const layer of result.layers) {
    // SCORPIOX profiles may carry the key of the switch itself; it has done its work.
    layer.values.delete('profile');
  }
  result.layers = result.layers.filter((layer) => !isEmptyLayer(layer));
  return result;
}

function missing(choice: ProfileChoice, sources: ProfileSources, folders: Folders, result: ProfileLayers): void {
  const names = profileNames(sources, folders);
  const known = names.length === 0 ? 'there are none' : `there are: ${names.join(', ')}`;
  const suggestion = nearest(choice.profile, names);
  const message = `there is no profile "${choice.profile}"${suggestion ? `; the nearest is ${suggestion}` : `; ${known}`}`;
  if (choice.name !== 'ACTIVE_PROFILE') throw configError([{ ...choice, message }]);
  result.notes.push({ message: `${describePlace(choice)}: ${message}`, path: choice.path, line: choice.line });
}

/** Every profile that can be named, sorted. */
function profileNames(sources: ProfileSources, folders: Folders): string[] {
  const names = new Set<string>();
  for (const tables of [...sources.project, ...sources.user]) for (const name of tables.keys()) names.add(name);
  for (const name of stems(join(folders.reasonixHome, 'profiles'), '.toml')) names.add(name);
  for (const name of stems(userProfiles(folders.home), '.txt')) names.add(name);
  if (sources.scorpioxFolder)
    for (const name of stems(projectProfiles(sources.scorpioxFolder), '.txt')) names.add(name);
  return [...names].sort();
}

const projectProfiles = (folder: string): string => join(folder, '.scorpiox', 'scorpiox-env');
const userProfiles = (home: string): string => join(home, '.claude', 'scorpiox-env');

function stems(folder: string, ending: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(ending) && name.length > ending.length)
      .map((name) => name.slice(0, -ending.length));
  } catch {
    return [];
  }
}
