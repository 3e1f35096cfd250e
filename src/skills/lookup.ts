import { foldName, nearestNames, normalName } from './names.ts';
import type { Skill, SkillLookup } from './types.ts';

/** Names looked up exactly, then without regard to case, then as the bare name of a plugin's skill. */
export class Lookup {
  readonly #exact = new Map<string, Skill>();
  readonly #folded = new Map<string, Set<string>>();
  readonly #bare = new Map<string, Set<string>>();
  readonly #disabled = new Set<string>();
  readonly #total: number;

  constructor(skills: readonly Skill[], disabled: readonly Skill[]) {
    this.#total = skills.length;
    for (const skill of [...skills, ...disabled]) {
      this.#exact.set(skill.name, skill);
      addTo(this.#folded, foldName(skill.name), skill.name);
      const colon = skill.name.indexOf(':');
      if (colon > 0) addTo(this.#bare, foldName(skill.name.slice(colon + 1)), skill.name);
    }
    for (const { name } of disabled) this.#disabled.add(name);
  }

  find(written: string): SkillLookup {
    const name = normalName(written);
    if (this.#exact.has(name)) return this.#answer(name);
    const names = this.#folded.get(foldName(name)) ?? this.#bare.get(foldName(name));
    if (names?.size === 1) return this.#answer([...names][0]!);
    if (names !== undefined) return { status: 'ambiguous', names: [...names] };
    const usable = [...this.#exact.keys()].filter((each) => !this.#disabled.has(each));
    return { status: 'unknown', nearest: nearestNames(name, usable), total: this.#total };
  }

  #answer(name: string): SkillLookup {
    return this.#disabled.has(name) ? { status: 'disabled', name } : { status: 'found', skill: this.#exact.get(name)! };
  }
}

function addTo(map: Map<string, Set<string>>, key: string, name: string): void {
  const names = map.get(key);
  if (names === undefined) map.set(key, new Set([name]));
  else names.add(name);
}
