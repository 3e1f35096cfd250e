import type { LoadedConfig } from '../../config/cascade.ts';
import { ReasonixError } from '../../core/errors.ts';
import { libraryOptions } from '../../runtime/places.ts';
import { applyRemovals, planRemoval, planRemovalOfInstalled, type Removal } from '../../skills/install/remove.ts';
import { openLibrary } from '../../skills/library.ts';
import type { Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';
import { note, print, printJson } from '../output.ts';
import { loadSettings, shortPath } from '../settings.ts';
import { confirmed, interruptible, placesOf } from '../skill-install/context.ts';
import type { skillRemoveFlags } from '../skill-install/flags.ts';
import { findSkill } from '../skills.ts';
import { paintFor, printableLine } from '../terminal.ts';

export const skillRemove: Handler<typeof skillRemoveFlags> = ({ flags, args }) =>
  interruptible(async (signal) => {
    const loaded = await loadSettings(flags);
    const removals = new Map<string, Removal>();
    for (const name of args) {
      const removal = await find(name, flags.scope, loaded, signal);
      removals.set(removal.path, removal);
    }
    const planned = [...removals.values()];
    for (const removal of planned) {
      note(describe(removal));
      if (removal.edited)
        note(paintFor(process.stderr)('yellow', 'it was edited since it was installed; that is lost too'));
    }
    const names = planned.map(({ name }) => printableLine(name)).join(', ');
    if (!(await confirmed(`Remove ${names}?`, flags.yes, signal))) {
      note('nothing was removed');
      return EXIT.failed;
    }
    await applyRemovals(planned, signal);
    if (flags.json) {
      printJson({
        removed: planned.map(({ name, path, is, lockedIn }) => ({ name, path, is, installed: lockedIn !== undefined })),
      });
    } else print(`removed ${names}`);
    return EXIT.done;
  });

/** An installed skill by its lock, else one of the library that lies in a folder of the user's or the project's. */
async function find(
  name: string,
  scope: 'project' | 'user' | undefined,
  loaded: LoadedConfig,
  signal: AbortSignal,
): Promise<Removal> {
  for (const place of placesOf(scope, loaded)) {
    const installed = await planRemovalOfInstalled(name, place, signal);
    if (installed !== undefined) return installed;
  }
  const skill = findSkill(
    await openLibrary({ ...libraryOptions(loaded.config, loaded.folders), disabledSkills: [] }),
    name,
  );
  if (scope !== undefined && skill.scope !== scope) {
    throw new ReasonixError(
      'skill_not_found',
      `there is no ${scope} skill ${JSON.stringify(name)}; it is in ${shortPath(skill.file)}`,
      {
        hint: 'leave --scope out',
      },
    );
  }
  return planRemoval(skill);
}

function describe({ name, path, is, files, lockedIn }: Removal): string {
  const what = {
    folder: `${shortPath(path)} with ${plural(files, 'file')}`,
    file: shortPath(path),
    link: `the link ${shortPath(path)}; what it leads to stays`,
    missing: `${shortPath(path)}, which is gone already`,
  }[is];
  return `${printableLine(name)}: ${what}${lockedIn === undefined ? '' : ', and its entry in skills.lock'}`;
}
