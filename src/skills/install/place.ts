import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { prefixOf } from '../folders.ts';
import { refused } from './refused.ts';

/** Where skills of a scope are installed. */
export interface InstallPlace {
  scope: 'project' | 'user';
  /** `.reasonix` of the project, or `$REASONIX_HOME`: holds `skills/`, `agents/` and the lock. */
  folder: string;
  /** Relative paths of sources start here: the project, or the user's home. */
  base: string;
}

/**
 * The path of an installed skill. What a project's own links would lead out of it is refused: a
 * repository must not choose a place elsewhere.
 */
export async function targetOf(place: InstallPlace, path: string): Promise<string> {
  const target = join(place.folder, ...path.split('/'));
  if (place.scope === 'user') return target;
  const base = await realpath(place.base);
  for (const folder of [place.folder, dirname(target)]) {
    const real = await realOrNearest(folder);
    if (real !== base && !real.startsWith(prefixOf(base))) {
      throw refused(
        `${folder} leads out of the project, to ${real}`,
        'replace the link by a folder, or use --scope user',
      );
    }
  }
  return target;
}

/** The real path of a folder, or of what it would be made in. */
async function realOrNearest(path: string): Promise<string> {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const state = await lstat(folder).catch(() => undefined);
    if (state !== undefined || dirname(folder) === folder) return realpath(folder);
  }
}
