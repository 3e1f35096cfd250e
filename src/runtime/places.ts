import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Folders } from '../config/places.ts';
import { packageRoot } from '../core/prompts.ts';
import type { LibraryOptions } from '../skills/types.ts';

/** The options that every face opens the skill library with, so that all see the same one. */
export function libraryOptions(config: Config, folders: Folders, cwd = folders.cwd): LibraryOptions {
  const { paths, excluded_paths, disabled_skills, max_depth } = config.skills;
  return {
    cwd,
    home: folders.home,
    reasonixHome: folders.reasonixHome,
    env: folders.env ?? {},
    builtins: join(packageRoot, 'skills'),
    paths,
    excludedPaths: excluded_paths,
    disabledSkills: disabled_skills,
    maxDepth: max_depth,
  };
}

/** Where new skills of a scope are written. */
export function installRoot(scope: 'project' | 'user', cwd: string, reasonixHome: string): string {
  return scope === 'user' ? join(reasonixHome, 'skills') : join(projectRoot(cwd), '.reasonix', 'skills');
}

/** The root of the repository that a folder is in, else the folder itself. */
export function projectRoot(cwd: string): string {
  for (let folder = cwd; ; ) {
    if (existsSync(join(folder, '.git'))) return folder;
    const above = dirname(folder);
    if (above === folder) return cwd;
    folder = above;
  }
}

export const cacheFolder = (reasonixHome: string): string => join(reasonixHome, 'cache');

/** Where the skills of sessions that bring their own are brought to. */
export const packedFolder = (reasonixHome: string): string => join(cacheFolder(reasonixHome), 'packed');
