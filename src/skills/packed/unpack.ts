import { existsSync } from 'node:fs';
import { readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { ReasonixError } from '../../core/errors.ts';
import { blobHash } from '../../store/blobs.ts';
import type { SessionStore } from '../../store/contract.ts';
import { CONTENT_DIGITS, hashOf } from '../hash.ts';
import { toSkill } from '../kept-header.ts';
import { Lookup } from '../lookup.ts';
import type { Diagnostic, RootReport, Skill, SkillBody, SkillChanges, SkillLibrary, SkillLookup } from '../types.ts';
import { blobsOf, checked, makeFiles, type WantedFile } from './files.ts';
import { decodeManifest, isHash, type Manifest, type PackedSkill } from './manifest.ts';

const LIST = 'library.json';
/** Skills that no process of this machine used for so long are removed from it, in milliseconds. */
const FORGET_AFTER = 30 * 86_400_000;

/** The skills of a session on whatever machine it runs. They never change. */
export interface PackedLibrary extends SkillLibrary {
  /** Makes the files again when somebody emptied the folder. Costs one look when nobody did. */
  ready(): Promise<void>;
}

/**
 * Brings packed skills to this machine, into `folder`/`hash`, and opens them: names, headers, scopes and
 * bodies are what they were where they were packed. Any number of processes may do so at once, and the
 * folder may be emptied at any time.
 * @throws ReasonixError `store_corrupt` when something of them is not in the store, or damaged there;
 * `config` when the store keeps no blobs.
 */
export async function unpackLibrary(hash: string, store: SessionStore, folder: string): Promise<PackedLibrary> {
  if (!isHash(hash)) throw new ReasonixError('session_invalid', `${JSON.stringify(hash)} names no packed skills`);
  const bytes = await manifestOf(hash, store, join(folder, hash));
  const library = new Unpacked(decodeManifest(bytes, hash), { hash, bytes, store, folder });
  await library.make();
  void forgetOld(folder);
  return library;
}

async function manifestOf(hash: string, store: SessionStore, target: string): Promise<Uint8Array> {
  const list = join(target, LIST);
  const kept = await readFile(list).catch(() => undefined);
  if (kept && blobHash(kept) === hash) return kept;
  if (kept) await rm(list, { force: true });
  const found = await blobsOf(store).readBlobs([hash]);
  return checked(found.get(hash), hash, 'the skills that the session was started with');
}

interface Source {
  hash: string;
  /** Of the manifest. */
  bytes: Uint8Array;
  store: SessionStore;
  folder: string;
}

class Unpacked implements PackedLibrary {
  readonly skills: readonly Skill[];
  readonly disabled: readonly Skill[];
  readonly roots: readonly RootReport[];
  readonly diagnostics: readonly Diagnostic[];
  readonly fingerprint: string;
  readonly #source: Source;
  readonly #target: string;
  readonly #files: readonly WantedFile[];
  /** Markdown files by their paths. */
  readonly #bodies: ReadonlyMap<string, WantedFile>;
  readonly #lookup: Lookup;
  #making: Promise<void> | undefined;

  constructor({ roots, skills, disabled }: Manifest, source: Source) {
    this.#source = source;
    this.#target = join(source.folder, source.hash);
    this.fingerprint = source.hash;
    const places = roots.map(({ scope }, index) => ({ scope, root: join(this.#target, String(index)) }));
    const packed = skills.map((each) => ({ skill: this.#skillOf(each, places), files: this.#filesOf(each, places) }));
    this.skills = packed.map(({ skill }) => skill);
    this.disabled = disabled.map((each) => this.#skillOf(each, places));
    this.roots = places.map(({ scope, root }) => {
      const found = this.skills.filter((skill) => skill.root === root).length;
      return { path: root, scope, status: 'ok', found };
    });
    this.diagnostics = [...this.skills, ...this.disabled].flatMap((skill) => skill.diagnostics);
    this.#files = packed.flatMap(({ files }) => files);
    this.#bodies = new Map(packed.flatMap(({ files: [own] }) => (own ? [[own.path, own]] : [])));
    this.#lookup = new Lookup(this.skills, this.disabled);
  }

  find(name: string): SkillLookup {
    return this.#lookup.find(name);
  }

  async load(skill: Skill): Promise<SkillBody> {
    const { parseSkill } = await import('../parse.ts');
    const { body } = await parseSkill(await this.#read(skill), { ...skill, plugin: undefined });
    return { text: body, hash: await hashOf(body) };
  }

  async refresh(): Promise<SkillChanges> {
    await this.ready();
    return { added: [], removed: [], changed: [] };
  }

  async ready(): Promise<void> {
    if (!existsSync(join(this.#target, LIST))) await this.make();
  }

  /** Makes what is not there. The list comes last: where it is, all was there. */
  make(): Promise<void> {
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #make(): Promise<void> {
    const { folder, store, hash, bytes } = this.#source;
    const list = { path: join(this.#target, LIST), hash, size: bytes.length };
    await makeFiles([...this.#files, list], store, folder);
    const now = new Date();
    await utimes(list.path, now, now).catch(() => {});
  }

  /** The bytes that were packed, whatever happened to the file since. */
  async #read({ name, file }: Skill): Promise<Uint8Array> {
    const own = this.#bodies.get(file);
    if (own === undefined) {
      throw new ReasonixError('skill_not_found', `the session was started without a skill "${name}" in ${file}`, {
        hint: 'search_skills lists those that it has',
      });
    }
    const bytes = await readFile(file).catch(() => undefined);
    if (bytes && blobHash(bytes) === own.hash) return bytes;
    await rm(file, { recursive: true, force: true });
    const { store, folder } = this.#source;
    await makeFiles([own], store, folder);
    // From the store, in case that somebody deletes the file once more.
    const found = await blobsOf(store).readBlobs([own.hash]);
    return checked(found.get(own.hash), own.hash, `the bytes of ${file}`);
  }

  #skillOf(packed: PackedSkill, places: readonly Pick<Skill, 'scope' | 'root'>[]): Skill {
    const { header, layout, root, folder, files, diagnostics = [] } = packed;
    const place = places[root]!;
    const own = files[0] ?? { path: 'SKILL.md', hash: '' };
    const file = [place.root, ...folder.split('/'), own.path].filter((part) => part !== '').join(sep);
    const known = {
      contentHash: own.hash.slice(0, CONTENT_DIGITS),
      diagnostics: diagnostics.map((each) => ({ ...each, path: file })),
    };
    return toSkill(known, header, { file, layout }, place);
  }

  #filesOf({ root, folder, files }: PackedSkill, places: readonly Pick<Skill, 'root'>[]): WantedFile[] {
    const base = join(places[root]!.root, ...folder.split('/'));
    return files.map(({ path, hash, size, executable }) => ({
      path: join(base, ...path.split('/')),
      hash,
      size,
      executable,
    }));
  }
}

/** What is left over from processes that were killed, and from sessions that ended long ago. */
async function forgetOld(folder: string): Promise<void> {
  try {
    for (const name of await readdir(folder)) {
      const isPacked = isHash(name);
      if (!isPacked && !name.startsWith('.new-')) continue;
      const path = join(folder, name);
      const used = await stat(isPacked ? join(path, LIST) : path).catch(() => stat(path));
      if (Date.now() - used.mtimeMs > FORGET_AFTER) await rm(path, { recursive: true, force: true });
    }
  } catch {
    // another process tidies the same folder
  }
}
