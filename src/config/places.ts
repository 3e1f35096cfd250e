import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ReasonixError } from '../core/errors.ts';
import { configError, type Place } from './problems.ts';
import { expandPath } from './values.ts';

export interface Folders {
  cwd: string;
  home: string;
  reasonixHome: string;
  /** What `${NAME}` in the path of a skill folder stands for; by default nothing. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface FolderOptions {
  cwd: string;
  /** The user's home folder. */
  home: string;
  /** Default: `REASONIX_HOME` of `env`, else `<home>/.reasonix`. */
  reasonixHome?: string | undefined;
  env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** `hidden`: something is there, or may be, but it cannot be looked at; reading it says why. */
const kindOf = (path: string): 'file' | 'folder' | 'hidden' | undefined => {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats && (stats.isDirectory() ? 'folder' : 'file');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? undefined : 'hidden';
  }
};

/** @throws ReasonixError `config` when the working folder is gone, or the settings folder is no folder. */
export function findFolders(options: FolderOptions): Folders {
  const cwd = resolve(options.cwd);
  const found = kindOf(cwd);
  if (found !== 'folder') {
    const wrong = { file: 'is a file', hidden: 'cannot be looked at', none: 'does not exist' }[found ?? 'none'];
    throw new ReasonixError('config', `the working folder ${cwd} ${wrong}`, {
      hint: 'change to a folder that exists, or name one with --cwd',
    });
  }
  const named = options.reasonixHome || options.env?.REASONIX_HOME?.trim();
  if (!options.home && !named) {
    throw new ReasonixError('config', 'there is no home folder to keep settings and sessions in', {
      hint: 'set HOME, or set REASONIX_HOME to a folder',
    });
  }
  const home = options.home ? resolve(options.home) : expandPath(named!, cwd, cwd);
  const reasonixHome = named ? expandPath(named, cwd, home) : join(home, '.reasonix');
  if (kindOf(reasonixHome) === 'file') {
    throw new ReasonixError(
      'config',
      `${reasonixHome} should be the folder of settings and sessions, but it is a file`,
      {
        hint: 'move it away, or set REASONIX_HOME to a folder',
      },
    );
  }
  return { cwd, home, reasonixHome, ...(options.env === undefined ? {} : { env: options.env }) };
}

/** From the working folder up to the root of its repository; the working folder alone outside of one. */
export function projectFolders(cwd: string): string[] {
  const folders: string[] = [];
  for (let folder = cwd; ; folder = dirname(folder)) {
    folders.push(folder);
    if (kindOf(join(folder, '.git'))) return folders;
    if (dirname(folder) === folder) return [cwd];
  }
}

/** The files called `names` in the nearest of `folders` that has one of them; `except` does not count. */
export function nearestFiles(
  folders: readonly string[],
  names: readonly string[],
  except: string,
): { folder: string; paths: string[] } | undefined {
  for (const folder of folders) {
    const paths = names.map((name) => join(folder, name)).filter((path) => path !== except && kindOf(path));
    if (paths.length > 0) return { folder, paths };
  }
  return undefined;
}

export const SCORPIOX_FILE = 'scorpiox-env.txt';
/** Of each pair the first wins over the second. */
export const PROJECT_FILES: readonly string[] = ['reasonix.toml', join('.reasonix', 'config.toml')];
const SCORPIOX_FILES: readonly string[] = [join('.scorpiox', SCORPIOX_FILE), join('.claude', SCORPIOX_FILE)];

/** The project's TOML files; the user's own, seen from the home folder, is not one of them. */
export const projectFiles = (folders: readonly string[], userFile: string) =>
  nearestFiles(folders, PROJECT_FILES, userFile);

export const projectScorpioxFiles = (folders: readonly string[], userFile: string) =>
  nearestFiles(folders, SCORPIOX_FILES, userFile);

/**
 * The text of a settings file, without its byte-order mark; `undefined` when there is none.
 * @throws ReasonixError `config` when it is there and cannot be read.
 */
export function readSettings(path: string, place: Place): string | undefined {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw configError([{ ...place, path, message: READ_FAULTS[code ?? ''] ?? `cannot be read (${code})` }], error);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw configError([{ ...place, path, message: 'is not UTF-8 text; save it as UTF-8' }], error);
  }
}

const READ_FAULTS: Record<string, string> = {
  EISDIR: 'is a folder, but a file is expected here',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  ELOOP: 'cannot be read: its links lead in a circle',
};
