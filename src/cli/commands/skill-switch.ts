import { setKey } from '../../config/set.ts';
import type { Handler, Invocation } from '../command.ts';
import type { skillSwitchFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { note, print } from '../output.ts';
import { loadOptions, loadSettings, shortPath } from '../settings.ts';
import { findSkill, loadSkills } from '../skills.ts';

type Call = Invocation<typeof skillSwitchFlags>;

export const skillDisable: Handler<typeof skillSwitchFlags> = async (call) => {
  const { library } = await loadSkills(call.flags);
  const skill = findSkill(library, call.args[0]!);
  return write(call, (names) => [...names, skill.name], `disabled ${skill.name}`);
};

export const skillEnable: Handler<typeof skillSwitchFlags> = async (call) => {
  const { library } = await loadSkills(call.flags);
  const [name = ''] = call.args;
  const lookup = library.find(name);
  if (lookup.status !== 'disabled') {
    const skill = findSkill(library, name);
    note(`${skill.name} is enabled already`);
    return EXIT.done;
  }
  return write(call, (names) => names.filter((each) => each !== lookup.name), `enabled ${lookup.name}`);
};

/** Writes the list that is in force, changed, into the file of the scope. */
async function write(call: Call, change: (names: string[]) => string[], done: string): Promise<number> {
  const { flags } = call;
  const { config } = await loadSettings(flags);
  const names = change(config.skills.disabled_skills);
  const scope = flags.scope ?? 'project';
  const { path } = await setKey('skills.disabled_skills', names.length > 0 ? names : '', {
    ...loadOptions(flags),
    scope,
  });
  print(`${done} in ${shortPath(path)}`);
  const now = (await loadSettings(flags)).config.skills.disabled_skills;
  if (now.toSorted().join('\n') !== names.toSorted().join('\n')) {
    note('another place still says otherwise: reasonix config explain skills.disabled_skills');
  }
  return EXIT.done;
}
