import type { Config } from '../config/config.ts';
import type { Folders } from '../config/places.ts';
import { ReasonixError } from '../core/errors.ts';
import type { RequiredSet } from '../middleware/required-skills.ts';
import type { SessionInfo } from '../session/middleware.ts';
import { filterList, type ListResult } from '../skills/list-filter.ts';
import { type RequiredSkill, readRequired } from '../skills/required.ts';
import type { Diagnostic, SkillLibrary } from '../skills/types.ts';
import { readUsage } from '../skills/usage.ts';

/**
 * The required skills of a session: of every level for a root, a child's own for a child. A session that
 * brings its skills brings these, too: they were looked up when it was started.
 */
export async function requiredSet(
  config: Config,
  folders: Folders,
  info: SessionInfo,
  library: SkillLibrary,
): Promise<RequiredSet & { unresolved: RequiredSkill[]; diagnostics: Diagnostic[] }> {
  const { required, unresolved, diagnostics } = await readRequired(
    {
      cwd: info.cwd,
      home: folders.home,
      reasonixHome: folders.reasonixHome,
      session: info.session,
      configured: config.skills.required.names,
      own: info.required,
      onlyOwn: info.kind === 'child' || info.library !== undefined,
    },
    library,
  );
  const names = required.map(({ name }) => name);
  const isSealed = (name: string): boolean => {
    const lookup = library.find(name);
    return lookup.status === 'found' && lookup.skill.disableModelInvocation;
  };
  return { names, sealed: names.filter(isSealed), unresolved, diagnostics };
}

/** The body of a required skill as it is injected. */
export async function renderRequired(library: SkillLibrary, name: string): Promise<{ text: string; hash: string }> {
  const lookup = library.find(name);
  if (lookup.status !== 'found')
    throw new ReasonixError('skill_not_found', `the required skill ${name} no longer exists`);
  const { renderInline } = await import('../skills/render.ts');
  const body = await library.load(lookup.skill);
  return { text: await renderInline(lookup.skill, body.text), hash: body.hash };
}

/** Which skills the prompt lists. */
export async function listedSkills(
  config: Config,
  folders: Folders,
  library: SkillLibrary,
  required: readonly string[],
): Promise<ListResult> {
  const { list } = config.skills;
  const usage = list.top_percent > 0 ? await readUsage(folders.reasonixHome) : new Map<string, number>();
  return filterList(library.skills, list, usage, required);
}
