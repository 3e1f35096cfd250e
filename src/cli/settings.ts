import { homedir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { type LoadedConfig, type LoadOptions, loadConfig } from '../config/cascade.ts';
import { ReasonixError } from '../core/errors.ts';
import type { FlagValues } from './command.ts';
import type { settingsFlags } from './settings-flags.ts';
import { printableLine } from './terminal.ts';

export type SettingsFlags = FlagValues<typeof settingsFlags>;

/** Where and how the configuration is read, by the flags that all commands share. */
export function loadOptions(flags: SettingsFlags, cwd = workingFolder(flags)): LoadOptions {
  // Relative to where the user stands, also when the work happens in the folder of a session.
  const configFile = flags.config === undefined ? undefined : resolve(workingFolder(flags), flags.config);
  return {
    cwd,
    home: homedir(),
    reasonixHome: relativeHome(),
    env: process.env,
    overrides: flags.env,
    configFile,
    profile: flags.profile,
  };
}

/** A relative `$REASONIX_HOME` starts where the user stands, like every path of a shell. */
function relativeHome(): string | undefined {
  const path = process.env.REASONIX_HOME?.trim();
  return !path || isAbsolute(path) || path.startsWith('~') ? undefined : resolve(path);
}

/** The configuration; notes about it go to stderr. @throws ReasonixError `config`. */
export async function loadSettings(flags: SettingsFlags): Promise<LoadedConfig> {
  return loadConfig(loadOptions(flags));
}

/** @throws ReasonixError `config` when the current folder is gone. */
export function workingFolder({ cwd }: Pick<SettingsFlags, 'cwd'>): string {
  try {
    return resolve(cwd ?? '.');
  } catch (error) {
    throw new ReasonixError('config', 'the current folder does not exist any more', {
      hint: 'change to a folder that exists, or name one with --cwd',
      cause: error,
    });
  }
}

/** A path as people like to read it: `~` for their home. */
export function shortPath(path: string): string {
  const home = homedir();
  return printableLine(home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path);
}
