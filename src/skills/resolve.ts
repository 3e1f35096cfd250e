import { realPath } from './folders.ts';
import { compareCodePoints, normalName } from './names.ts';
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
  readonly #seen = new Map<string, string>();
  readonly collapsed: CollapsedFile[] = [];

  /** Of one root's files those that are new, in their order; a real path is kept before a link to it. */
  leaveOut(found: readonly FoundFile[]): FoundFile[] {
    const dropped = new Set<FoundFile>();
    for (const each of [...found].sort((a, b) => Number(a.viaLink) - Number(b.viaLink))) {
      const inode = `${each.stat.dev}:${each.stat.ino}`;
      const before = this.#seen.get(inode);
      if (before === undefined) this.#seen.set(inode, each.file);
      else if (realPath(before) === realPath(each.file)) {
        dropped.add(each);
        this.collapsed.push({ path: each.file, same: before });
      }
    }
    return dropped.size === 0 ? [...found] : found.filter((each) => !dropped.has(each));
  }
}

export interface Definition {
  skill: Skill;
  contentHash: string;
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
export function resolveNames(definitions: readonly Definition[], disabledNames: readonly string[]): Resolved {
  const winners = new Map<string, Definition>();
  const collapsed: CollapsedFile[] = [];
  for (const definition of definitions) {
    const { skill, contentHash } = definition;
    const winner = winners.get(skill.name);
    if (winner === undefined) winners.set(skill.name, definition);
    else if (winner.contentHash === contentHash && winner.skill.layout === skill.layout) {
      collapsed.push({ path: skill.file, same: winner.skill.file });
    } else addShadow(winner.skill, skill);
  }
  const sorted = [...winners.values()].map(({ skill }) => skill).sort((a, b) => compareCodePoints(a.name, b.name));
  const { off, diagnostics } = disabledOf(sorted, disabledNames);
  return {
    skills: off.size === 0 ? sorted : sorted.filter((skill) => !off.has(skill.name)),
    disabled: sorted.filter((skill) => off.has(skill.name)),
    collapsed,
    diagnostics,
  };
}

function addShadow(winner: Skill, loser: Skill): void {
  winner.shadows.push({ path: loser.file, scope: loser.scope });
  if (winner.root !== loser.root) return;
  winner.diagnostics.push({
    severity: 'warning',
    code: 'name-collision',
    path: winner.file,
    message: `the same root has another skill of this name, which is not used: ${loser.file}`,
    skill: winner.name,
  });
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
