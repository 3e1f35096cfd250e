import type { OpenedLibrary } from '../../skills/library.ts';
import { sortedByCodePoint } from '../../skills/names.ts';
import type { Skill } from '../../skills/types.ts';
import type { Handler } from '../command.ts';
import type { skillListFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { listing } from '../listed.ts';
import { dataColumns, note, print, printJson } from '../output.ts';
import { shortPath } from '../settings.ts';
import { diagnosticLine, loadSkills, skillJson } from '../skills.ts';
import { clipWidth, type Paint, paintFor, printableLine, table } from '../terminal.ts';

/** Why a disabled skill neither is listed nor runs. */
const DISABLED = 'skills.disabled_skills names it';
/** Below this many columns a skill takes two lines. */
const NARROW = 60;
/** Problems shown without `--explain`. */
const SHOWN_PROBLEMS = 5;

export const skillList: Handler<typeof skillListFlags> = async ({ flags }) => {
  const { loaded, library } = await loadSkills(flags);
  const { listed, reasons, ...required } = await listing(loaded, library);
  const diagnostics = [...required.diagnostics, ...library.diagnostics];
  if (flags.json) {
    printJson({
      skills: library.skills.map((skill) => ({
        ...skillJson(skill),
        ...(flags.explain ? { listed: listed.has(skill.name), reason: reasons.get(skill.name) ?? null } : {}),
      })),
      ...(flags.explain
        ? { disabled: library.disabled.map((skill) => ({ ...skillJson(skill), reason: DISABLED })) }
        : {}),
      total: library.skills.length,
      listed: listed.size,
      roots: library.roots,
      diagnostics,
    });
    return EXIT.done;
  }
  const paint = paintFor(process.stdout);
  if (flags.explain) for (const line of explained(library, reasons)) print(line);
  else for (const line of listLines(library.skills, paint)) print(line);
  const problems = diagnostics.filter(({ severity }) => flags.explain || severity !== 'info');
  const shown = flags.explain ? problems : problems.slice(0, SHOWN_PROBLEMS);
  const errorPaint = paintFor(process.stderr);
  for (const problem of shown) note(diagnosticLine(problem, errorPaint));
  if (shown.length < problems.length) note(`${problems.length - shown.length} more: reasonix skill list --explain`);
  const disabled = library.disabled.length > 0 ? `, ${library.disabled.length} disabled` : '';
  note(errorPaint('dim', `${library.skills.length} skills, ${listed.size} listed to models${disabled}`));
  return EXIT.done;
};

function listLines(skills: readonly Skill[], paint: Paint): string[] {
  const columns = dataColumns();
  if (columns !== undefined && columns < NARROW) {
    return skills.flatMap((skill) => [
      paint(
        'bold',
        clipWidth(`${printableLine(skill.name)}${skill.runAs === 'subagent' ? ' [subagent]' : ''}`, columns),
      ),
      `  ${clipWidth(printableLine(skill.description), columns - 2)}`,
    ]);
  }
  const rows = skills.map((skill) => [
    printableLine(skill.name),
    skill.runAs,
    skill.scope === 'builtin' ? 'built-in' : skill.scope,
    printableLine(skill.description),
  ]);
  const [head = '', ...lines] = table(['NAME', 'RUNS AS', 'SOURCE', 'DESCRIPTION'], rows, columns);
  return [paint('bold', head), ...lines];
}

/** Every file that was found: the skills that run, the disabled ones, and what each of them stands before. */
function explained({ skills, disabled, collapsed }: OpenedLibrary, reasons: ReadonlyMap<string, string>): string[] {
  const copies = new Map<string, string[]>();
  for (const { path, same } of collapsed) copies.set(same, [...(copies.get(same) ?? []), path]);
  const off = new Set(disabled);
  const rows = sortedByCodePoint([...skills, ...disabled], ({ name }) => name).flatMap((skill) => {
    const reason = off.has(skill) ? DISABLED : reasons.get(skill.name);
    const state = off.has(skill) ? 'disabled' : reason === undefined ? 'listed' : 'not listed';
    const file = shortPath(skill.file);
    return [
      [skill.name, state, reason ?? ''],
      ...skill.shadows.map(({ path }) => ['', 'shadowed', `${shortPath(path)}: ${file} comes first`]),
      ...(copies.get(skill.file) ?? []).map((path) => ['', 'same file', `${shortPath(path)}: the same as ${file}`]),
    ];
  });
  return table(
    ['NAME', 'STATE', 'WHY'],
    rows.map((row) => row.map(printableLine)),
    dataColumns(),
  );
}
