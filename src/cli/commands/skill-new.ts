import { installRoot } from '../../runtime/places.ts';
import { createSkill } from '../../skills/create.ts';
import type { Handler } from '../command.ts';
import type { skillNewFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { note, print, printJson } from '../output.ts';
import { loadSettings } from '../settings.ts';
import { stubBody, stubDescription } from '../skill-stub.ts';

export const skillNew: Handler<typeof skillNewFlags> = async ({ flags, args }) => {
  const { folders } = await loadSettings(flags);
  const name = args[0]!;
  const scope = flags.scope ?? 'project';
  const runAs = flags['run-as'] ?? 'inline';
  const path = await createSkill({
    root: installRoot(scope, folders.cwd, folders.reasonixHome),
    name,
    description: flags.description?.trim() || stubDescription(runAs),
    body: stubBody(name, runAs),
    run_as: runAs,
  });
  if (flags.json) printJson({ name, path, scope, run_as: runAs });
  else print(path);
  note(`edit it, then try it: reasonix skill run ${name} "…"`);
  return EXIT.done;
};
