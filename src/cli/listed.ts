import type { LoadedConfig } from '../config/cascade.ts';
import { listedSkills, requiredSet } from '../runtime/required-set.ts';
import { describeSkills } from '../skills/catalog.ts';
import { unresolvedDiagnostics } from '../skills/required.ts';
import type { Diagnostic, SkillLibrary } from '../skills/types.ts';

/** Which skills a new session's prompt names, why it does not name the others, and what it requires in vain. */
export async function listing(
  { config, folders }: LoadedConfig,
  library: SkillLibrary,
): Promise<{ listed: ReadonlySet<string>; reasons: Map<string, string>; diagnostics: Diagnostic[] }> {
  const info = { session: '', kind: 'root', root: '', depth: 0, cwd: folders.cwd, required: [], inherit: [] } as const;
  const found = config.skills.required.enabled ? await requiredSet(config, folders, info, library) : undefined;
  const required = found?.names ?? [];
  const filtered = await listedSkills(config, folders, library, required);
  const { lazy, list } = config.skills;
  const { shown } = describeSkills({
    skills: library.skills,
    listed: filtered.listed,
    required,
    lazy,
    style: list.style,
    maxBytes: list.max_bytes,
    folders: [],
  });
  const filters = new Map(filtered.hidden.map(({ name, reason }) => [name, reason]));
  const reasons = new Map<string, string>();
  for (const { name } of library.skills) {
    if (shown.has(name)) continue;
    const room = `the list is full (skills.list.max_bytes = ${list.max_bytes})`;
    reasons.set(name, filters.get(name) ?? (lazy ? 'lazy mode lists built-ins only' : room));
  }
  const diagnostics = [...(found?.diagnostics ?? []), ...unresolvedDiagnostics(found?.unresolved ?? [], library)];
  return { listed: shown, reasons, diagnostics };
}
