import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Folders } from '../config/places.ts';
import type { SkillPlace } from '../session/middleware.ts';
import { openLibrary } from '../skills/library.ts';
import type { PackedLibrary } from '../skills/packed/unpack.ts';
import type { SkillLibrary } from '../skills/types.ts';
import type { SessionStore } from '../store/contract.ts';
import { libraryOptions, packedFolder } from './places.ts';

export interface LibrariesOptions {
  config: Config;
  folders: Folders;
  store: SessionStore;
  /** Folder whose skills every session sees that has none of its own. */
  skillsFrom: string | undefined;
  onProblem(text: string): void;
}

/** Packed libraries that stay open; the least recently used goes first. */
const MOST_PACKED = 16;

/** The libraries of skills that sessions of a runtime use, each opened once. */
export class Libraries {
  readonly #options: LibrariesOptions;
  readonly #open = new Map<string, Promise<SkillLibrary>>();
  readonly #packed = new Map<string, Promise<PackedLibrary>>();

  constructor(options: LibrariesOptions) {
    this.#options = options;
  }

  /** @throws ReasonixError `store_corrupt` when the store has lost the skills that a session was started with. */
  of({ cwd, library }: SkillPlace): Promise<SkillLibrary> {
    return library === undefined ? this.#ofFolder(cwd) : this.#ofHash(library);
  }

  /** The same with what has changed on disk since it was opened, or looked at last. */
  async now(place: SkillPlace): Promise<SkillLibrary> {
    const isOpen = place.library === undefined && this.#open.has(this.#folderOf(place.cwd));
    const library = await this.of(place);
    if (isOpen) await library.refresh();
    return library;
  }

  /** Puts the skills of a folder into the store, as they are now, and gives the name that sessions carry. */
  async pack(cwd: string): Promise<string> {
    const { store, onProblem } = this.#options;
    const { packLibrary } = await import('../skills/packed/pack.ts');
    const { hash, leftOut } = await packLibrary(await this.now({ cwd }), store);
    for (const { message } of leftOut) if (!this.#packed.has(hash)) onProblem(message);
    return hash;
  }

  /** A folder is gone; its skills are not looked for again. */
  forget(cwd: string): void {
    this.#open.delete(cwd);
  }

  #ofFolder(cwd: string): Promise<SkillLibrary> {
    const { config, folders } = this.#options;
    const from = this.#folderOf(cwd);
    const opened = this.#open.get(from) ?? openLibrary(libraryOptions(config, folders, from));
    this.#open.set(from, opened);
    return opened;
  }

  #folderOf(cwd: string): string {
    const { skillsFrom } = this.#options;
    return skillsFrom === undefined ? cwd : resolve(skillsFrom);
  }

  async #ofHash(hash: string): Promise<SkillLibrary> {
    const opened = this.#packed.get(hash) ?? this.#unpack(hash);
    this.#packed.delete(hash);
    this.#packed.set(hash, opened);
    if (this.#packed.size > MOST_PACKED) this.#packed.delete(this.#packed.keys().next().value ?? '');
    try {
      const library = await opened;
      await library.ready();
      return library;
    } catch (error) {
      // The store may be away for a moment only.
      if (this.#packed.get(hash) === opened) this.#packed.delete(hash);
      throw error;
    }
  }

  async #unpack(hash: string): Promise<PackedLibrary> {
    const { unpackLibrary } = await import('../skills/packed/unpack.ts');
    return unpackLibrary(hash, this.#options.store, packedFolder(this.#options.folders.reasonixHome));
  }
}
