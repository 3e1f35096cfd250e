import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { ReasonixError } from '../../core/errors.ts';
import { blobHash } from '../../store/blobs.ts';
import type { BlobStore, SessionStore } from '../../store/contract.ts';
import { contentOf } from '../hash.ts';
import { keepHeader } from '../kept-header.ts';
import { Patience } from '../patience.ts';
import { Seen } from '../seen.ts';
import type { Diagnostic, Skill, SkillLibrary } from '../types.ts';
import { blobsOf } from './files.ts';
import { encodeManifest, isInside, type Manifest, type PackedFile, type PackedSkill } from './manifest.ts';
import { type LocalFile, readSkillFolder } from './skill-folder.ts';

/** A library as other machines find it. */
export interface PackedAs {
  /** The hash of its manifest. */
  hash: string;
  /** One for each skill of which files stay behind. */
  leftOut: readonly Diagnostic[];
}

/** Bytes that are read and sent at once. */
const BATCH = 8 * 1024 * 1024;
const MOST_ATTEMPTS = 3;
/** Files of a skill that a diagnostic names. */
const MOST_NAMED = 5;
/** For so long what was packed is not asked about again, in milliseconds: far less than unused blobs are kept. */
const TRUSTED = 3_600_000;

interface Known {
  store: BlobStore;
  skills: readonly Skill[];
  disabled: readonly Skill[];
  seen: Seen;
  hashes: readonly string[];
  /** When the store was asked last. */
  askedAt: number;
  packed: PackedAs;
}

const known = new WeakMap<SkillLibrary, Known>();
const under = new WeakMap<SkillLibrary, Promise<unknown>>();

/**
 * Puts every skill of a library that can be run into the store, built-in ones like all others, and
 * gives the name under which any machine finds them as they are now. Only what the store does not
 * have is sent; a second call looks whether anything changed, and at no file.
 * @throws ReasonixError `skill_invalid` when the skills change all the while; `config` when the store
 * keeps no blobs.
 */
export function packLibrary(library: SkillLibrary, store: SessionStore): Promise<PackedAs> {
  const packed = (under.get(library) ?? Promise.resolve()).then(() => pack(library, blobsOf(store)));
  under.set(
    library,
    packed.catch(() => undefined),
  );
  return packed;
}

async function pack(library: SkillLibrary, store: BlobStore): Promise<PackedAs> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    await library.refresh();
    const before = await unchanged(library, store);
    if (before) return before;
    const gathered = await gather(library);
    if (!gathered || !(await send(gathered, store))) continue;
    const { skills, disabled } = library;
    const { seen, hashes, packed } = gathered;
    known.set(library, { store, skills, disabled, seen, hashes, askedAt: Date.now(), packed });
    return packed;
  }
  throw new ReasonixError('skill_invalid', 'the skills cannot be packed: they change all the while', {
    hint: 'start the session again when nothing writes into the skill folders any more',
  });
}

async function unchanged(library: SkillLibrary, store: BlobStore): Promise<PackedAs | undefined> {
  const last = known.get(library);
  if (last?.store !== store || last.skills !== library.skills || last.disabled !== library.disabled) return undefined;
  if (!(await last.seen.isStillThere())) return undefined;
  if (Date.now() - last.askedAt < TRUSTED) return last.packed;
  if ((await store.missingBlobs(last.hashes)).length > 0) return undefined;
  last.askedAt = Date.now();
  return last.packed;
}

interface Gathered {
  manifest: Uint8Array;
  /** Where the bytes of each hash can be read, and how many they are. */
  sources: ReadonlyMap<string, { path: string; size: number }>;
  hashes: string[];
  seen: Seen;
  packed: PackedAs;
}

/** `undefined` when a skill is not what the library knows, because it was changed this moment. */
async function gather(library: SkillLibrary): Promise<Gathered | undefined> {
  const withSkills = new Set([...library.skills, ...library.disabled].map(({ root }) => root));
  const roots = library.roots.filter(({ path }) => withSkills.has(path));
  const places = new Map(roots.map(({ path }, index) => [path, index]));
  const content: Omit<Manifest, 'version'> = {
    roots: roots.map(({ scope }) => ({ scope })),
    skills: [],
    disabled: library.disabled.map((skill, index) => packedAs(skill, places, index, [])),
  };
  const sources = new Map<string, { path: string; size: number }>();
  const leftOut: Diagnostic[] = [];
  const seen = new Seen();
  const patience = new Patience();
  for (const [index, skill] of library.skills.entries()) {
    const folder = readSkillFolder(skill, seen);
    const files: PackedFile[] = [];
    for (const local of folder.files) {
      const file = hashed(local, sources);
      if (file) files.push(file);
      else folder.leftOut.push(`${local.path} (cannot be read)`);
    }
    if (files[0]?.hash.startsWith(contentOf(skill.stamp)) !== true) return undefined;
    content.skills.push(packedAs(skill, places, index, files));
    if (folder.leftOut.length > 0) leftOut.push(leftOutOf(skill, folder.leftOut));
    if (index % 16 === 15) await patience.pause();
  }
  const manifest = encodeManifest(content);
  const hash = blobHash(manifest);
  return { manifest, sources, hashes: [...sources.keys(), hash], seen, packed: { hash, leftOut } };
}

function packedAs(skill: Skill, places: ReadonlyMap<string, number>, index: number, files: PackedFile[]): PackedSkill {
  const below = relative(skill.root, skill.folder).split(sep).join('/');
  const packed: PackedSkill = {
    header: keepHeader(skill),
    layout: skill.layout,
    root: places.get(skill.root) ?? 0,
    // What names a skill is its header: the folder may be any that every system can have.
    folder: below === '' || isInside(below) ? below : `@${index}`,
    files,
  };
  if (skill.diagnostics.length > 0) packed.diagnostics = skill.diagnostics;
  return packed;
}

/** `undefined` when it cannot be read. */
function hashed(
  { path, absolute, executable }: LocalFile,
  sources: Map<string, { path: string; size: number }>,
): PackedFile | undefined {
  const bytes = readQuietly(absolute);
  if (bytes === undefined) return undefined;
  const hash = blobHash(bytes);
  sources.set(hash, { path: absolute, size: bytes.length });
  const file: PackedFile = { path: isInside(path) ? path : 'SKILL.md', hash, size: bytes.length };
  return executable ? { ...file, executable } : file;
}

function leftOutOf({ name, file }: Skill, what: readonly string[]): Diagnostic {
  const more = what.length > MOST_NAMED ? ` and ${what.length - MOST_NAMED} more` : '';
  const message = `the skill "${name}" goes to other machines without ${what.slice(0, MOST_NAMED).join(', ')}${more}`;
  return { severity: 'warning', code: 'not-packed', path: file, message, skill: name };
}

/** The manifest last: where it is, everything else is. False when a file is no longer what it was. */
async function send({ manifest, sources, hashes, packed }: Gathered, store: BlobStore): Promise<boolean> {
  const missing = await store.missingBlobs(hashes);
  let batch = new Map<string, Uint8Array>();
  let size = 0;
  for (const hash of missing) {
    const source = sources.get(hash);
    if (source === undefined) continue;
    if (size + source.size > BATCH) {
      await store.putBlobs(batch);
      batch = new Map();
      size = 0;
    }
    const bytes = readQuietly(source.path);
    if (bytes === undefined || blobHash(bytes) !== hash) return false;
    batch.set(hash, bytes);
    size += bytes.length;
  }
  await store.putBlobs(batch);
  if (missing.includes(packed.hash)) await store.putBlobs(new Map([[packed.hash, manifest]]));
  return true;
}

function readQuietly(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
