import { realPath } from './folders.ts';
import { contentOf } from './hash.ts';
import { normalName, sortedByCodePoint } from './names.ts';
import type { FoundFile } from './scan.ts';
import type { Diagnostic, Skill } from './types.ts';

/** A file whose skill is already known under another path; nothing is lost with it. */
export interface CollapsedFile {
  path: string;
  /** The file that stands for it. */
  same: string;
}

/** Leaves out files that were seen before, by whatever path: by their inode, confirmed by their real path. */
export class SameFiles {
  readonly #seen = new Map<number, string>();
  readonly collapsed: CollapsedFile[] = [];

  /** Of one root's files those that are new, in their order; a real path is kept before a link to it. */
  leaveOut(found: readonly FoundFile[]): readonly FoundFile[] {
    const dropped = new Set<FoundFile>();
    const realFirst = found.some((each) => each.viaLink)
      ? [...found].sort((a, b) => Number(a.viaLink) - Number(b.viaLink))
      : found;
    for (const each of realFirst) {
      const before = this.#seen.get(each.inode);
      if (before === undefined) this.#seen.set(each.inode, each.file);
      else if (realPath(before) === realPath(each.file)) {
        dropped.add(each);
        this.collapsed.push({ path: each.file, same: before });
      }
    }
    return dropped.size === 0 ? found : found.filter((each) => !dropped.has(each));
  }
}

export interface Resolved {
  skills: Skill[];
  disabled: Skill[];
  collapsed: CollapsedFile[];
  diagnostics: Diagnostic[];
}

/**
 * Gives every name its skill: the first definition in the order of precedence. Later ones are its
 * shadows, except copies with the same bytes, which are as good as one.
 */
export function resolveNames(definitions: readonly Skill[], disabledNames: readonly string[]): Resolved {
  const winners = new Map<string, Skill>();
  const collapsed: CollapsedFile[] = [];
  for (const skill of definitions) {
    const winner = winners.get(skill.name);
    if (winner === undefined) winners.set(skill.name, skill);
    else if (contentOf(winner.stamp) === contentOf(skill.stamp) && winner.layout === skill.layout) {
      collapsed.push({ path: skill.file, same: winner.file });
    } else addShadow(winner, skill);
  }
  const sorted = sortedByCodePoint([...winners.values()], (skill) => skill.name);
  const { off, diagnostics } = disabledOf(sorted, disabledNames);
  return {
    skills: off.size === 0 ? sorted : sorted.filter((skill) => !off.has(skill.name)),
    disabled: off.size === 0 ? [] : sorted.filter((skill) => off.has(skill.name)),
    collapsed,
    diagnostics,
  };
}

function addShadow(winner: Skill, loser: Skill): void {
  winner.shadows = [...winner.shadows, { path: loser.file, scope: loser.scope }];
  if (winner.root !== loser.root) return;
  const collision: Diagnostic = {
    severity: 'warning',
    code: 'name-collision',
    path: winner.file,
    message: `the same root has another skill of this name, which is not used: ${loser.file}`,
    skill: winner.name,
  };
  winner.diagnostics = [...winner.diagnostics, collision];
}

/** A name without a skill of exactly that spelling disables the one that differs in case only. */
function disabledOf(
  skills: readonly Skill[],
  names: readonly string[],
): { off: Set<string>; diagnostics: Diagnostic[] } {
  const off = new Set<string>();
  const diagnostics: Diagnostic[] = [];
  for (const written of names) {
    const name = normalName(written);
    const exact = skills.some((skill) => skill.name === name);
    const matches = exact
      ? [name]
      : skills.filter((skill) => skill.name.toLowerCase() === name.toLowerCase()).map((skill) => skill.name);
    for (const match of matches) off.add(match);
    if (matches.length === 0) {
      const message = `skills.disabled_skills names "${name}", but there is no such skill`;
      diagnostics.push({ severity: 'info', code: 'disabled-unknown', path: '', message, skill: name });
    }
  }
  return { off, diagnostics };
}
