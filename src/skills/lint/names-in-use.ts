import type { ParsedSkill } from '../parse.ts';
import type { FixOptions } from './fix.ts';

/** The names of all skills that are looked at together, so that repairs make no two of them one. */
export class NamesInUse {
  readonly #counts = new Map<string, number>();
  readonly #called: ReadonlySet<string>;

  constructor(parsed: readonly ParsedSkill[]) {
    const skills = parsed.flatMap(({ skill }) => skill ?? []);
    for (const { name } of skills) this.#count(name, 1);
    this.#called = new Set(skills.flatMap(({ preload, required }) => [...preload, ...required]));
  }

  optionsFor({ skill }: ParsedSkill): FixOptions {
    return {
      isTaken: (name) => (this.#counts.get(name) ?? 0) > (skill?.name === name ? 1 : 0),
      isCalled: (name) => this.#called.has(name),
    };
  }

  rename(before: ParsedSkill, after: ParsedSkill): void {
    if (before.skill !== undefined) this.#count(before.skill.name, -1);
    if (after.skill !== undefined) this.#count(after.skill.name, 1);
  }

  #count(name: string, change: number): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + change);
  }
}
