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
  readonly #earlier: (readonly FoundFile[])[] = [];
  /** Of all files so far, sorted. */
  #inodes = new Float64Array(0);
  readonly collapsed: CollapsedFile[] = [];

  /** Of one root's files those that are new, in their order; a real path is kept before a link to it. */
  leaveOut(found: readonly FoundFile[]): readonly FoundFile[] {
    if (found.length === 0) return found;
    if (!this.#bringsRepeats(found)) {
      this.#earlier.push(found);
      return found;
    }
    const first = new Map<number, string>();
    for (const each of this.#earlier.flat()) if (!first.has(each.inode)) first.set(each.inode, each.file);
    const dropped = new Set<FoundFile>();
    const realFirst = [...found].sort((a, b) => Number(a.viaLink) - Number(b.viaLink));
    for (const each of realFirst) {
      const before = first.get(each.inode);
      if (before === undefined) first.set(each.inode, each.file);
      else if (realPath(before) === realPath(each.file)) {
        dropped.add(each);
        this.collapsed.push({ path: each.file, same: before });
      }
    }
    this.#earlier.push(realFirst.filter((each) => !dropped.has(each)));
    return found.filter((each) => !dropped.has(each));
  }

  /** Hardly ever: sorted numbers tell so at a tenth of what a map of thousands of files costs. */
  #bringsRepeats(found: readonly FoundFile[]): boolean {
    const before = this.#inodes;
    const inodes = new Float64Array(before.length + found.length);
    inodes.set(before);
    for (let index = 0; index < found.length; index++) inodes[before.length + index] = found[index]!.inode;
    this.#inodes = inodes.sort();
    for (let index = 1; index < inodes.length; index++) if (inodes[index] === inodes[index - 1]) return true;
    return false;
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
  const winners: Skill[] = [];
  const collapsed: CollapsedFile[] = [];
  // definitions of one name become neighbours and keep their order
  for (const skill of sortedByCodePoint(definitions, ({ name }) => name)) {
    const winner = winners.at(-1);
    if (winner === undefined || winner.name !== skill.name) winners.push(skill);
    else if (contentOf(winner.stamp) === contentOf(skill.stamp) && winner.layout === skill.layout) {
      collapsed.push({ path: skill.file, same: winner.file });
    } else addShadow(winner, skill);
  }
  const { off, diagnostics } = disabledOf(winners, disabledNames);
  return {
    skills: off.size === 0 ? winners : winners.filter((skill) => !off.has(skill.name)),
    disabled: off.size === 0 ? [] : winners.filter((skill) => off.has(skill.name)),
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
