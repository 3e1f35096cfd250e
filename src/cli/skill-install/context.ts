import { dirname } from 'node:path';
import type { LoadedConfig } from '../../config/cascade.ts';
import { ReasonixError } from '../../core/errors.ts';
import { installRoot, libraryOptions, projectRoot } from '../../runtime/places.ts';
import type { InstallContext } from '../../skills/install/install.ts';
import type { InstallPlace } from '../../skills/install/place.ts';
import { openLibrary } from '../../skills/library.ts';
import { note } from '../output.ts';
import { canAsk, readLine } from '../run/approve.ts';
import { Interrupt } from '../run/interrupt.ts';
import { paintFor, printableLine } from '../terminal.ts';
import { downloader } from './download.ts';

/** Where skills of a scope are installed, the same place that `skill new` and models write to. */
export function placeOf(scope: 'project' | 'user', { folders }: Pick<LoadedConfig, 'folders'>): InstallPlace {
  return {
    scope,
    folder: dirname(installRoot(scope, folders.cwd, folders.reasonixHome)),
    base: scope === 'user' ? folders.home : projectRoot(folders.cwd),
  };
}

export const placesOf = (
  scope: 'project' | 'user' | undefined,
  loaded: Pick<LoadedConfig, 'folders'>,
): InstallPlace[] =>
  (scope === undefined ? (['project', 'user'] as const) : [scope]).map((each) => placeOf(each, loaded));

interface ContextFlags {
  force?: boolean;
  'allow-private'?: boolean;
}

/** All but the place. Progress goes to stderr; the library tells which skills of a name there are. */
export async function contextFor(
  loaded: LoadedConfig,
  flags: ContextFlags,
  signal: AbortSignal,
): Promise<Omit<InstallContext, 'place'>> {
  const library = await openLibrary(libraryOptions(loaded.config, loaded.folders));
  const paint = paintFor(process.stderr);
  return {
    signal,
    force: flags.force ?? false,
    download: downloader(flags['allow-private'] ?? loaded.config.tools.web_fetch.allow_private),
    current: (name) => {
      const found = library.find(name);
      return found.status === 'found' && found.skill.name === name
        ? { scope: found.skill.scope, path: found.skill.file }
        : undefined;
    },
    progress: (text) => note(paint('dim', printableLine(text))),
  };
}

/** Ctrl-C and a termination stop what is fetched or staged; what was begun is cleared away. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new Interrupt(() => note('stopping; nothing is left behind'));
  try {
    return await work(interrupt.signal);
  } finally {
    interrupt.close();
  }
}

/** `yes` said, or asked for on a terminal. @throws ReasonixError `usage` where nobody can be asked. */
export async function confirmed(question: string, yes: boolean | undefined, signal: AbortSignal): Promise<boolean> {
  if (yes) return true;
  if (!canAsk()) {
    throw new ReasonixError('usage', 'nothing was changed: this needs a yes, and nobody can be asked here', {
      hint: 'add --yes to do it',
    });
  }
  const answer = await readLine(`${question} [y]es, [n]o: `, signal);
  signal.throwIfAborted();
  return /^y(?:es)?$/i.test(answer?.trim() ?? '');
}
