import { ReasonixError } from '../../core/errors.ts';
import type { KeptHeader } from '../kept-header.ts';
import type { Diagnostic, Skill, SkillScope } from '../types.ts';

/** A file of a packed skill: its bytes are the blob of this hash. */
export interface PackedFile {
  /** Relative to the skill's folder, with `/`. */
  path: string;
  hash: string;
  size: number;
  executable?: true | undefined;
}

/** A skill as it was when it was packed; everything but its place is what the library knew. */
export interface PackedSkill {
  header: KeptHeader;
  layout: Skill['layout'];
  /** Index of its root. */
  root: number;
  /** Where its folder lies below that of its root, with `/`; empty for the root itself. */
  folder: string;
  /** Its markdown file first. Empty for a skill that cannot be run. */
  files: PackedFile[];
  /** Those of the file, with paths as they were. */
  diagnostics?: Diagnostic[] | undefined;
}

/**
 * Every skill that a session can run, with the files that belong to it. It is a blob itself, and its
 * hash is the name of the library.
 */
export interface Manifest {
  version: typeof VERSION;
  /** Roots that have skills, highest first. */
  roots: { scope: SkillScope }[];
  /** By name, shadowed ones left out. */
  skills: PackedSkill[];
  disabled: PackedSkill[];
}

const VERSION = 1;
const HASH = /^[0-9a-f]{64}$/;

export const isHash = (text: string): boolean => HASH.test(text);

export const encodeManifest = (content: Omit<Manifest, 'version'>): Uint8Array =>
  new TextEncoder().encode(JSON.stringify({ version: VERSION, ...content }));

/**
 * Reads a manifest whose bytes have the hash that they are known by. Its paths become files: one that
 * could lead out of its folder makes all of it invalid.
 * @throws ReasonixError `store_corrupt` when it is none, or one of a newer version.
 */
export function decodeManifest(bytes: Uint8Array, hash: string): Manifest {
  const invalid = (why: string): ReasonixError =>
    new ReasonixError('store_corrupt', `the packed skills ${hash} cannot be used: ${why}`, {
      hint: 'start a new session, which packs the skills again',
    });
  let manifest: Manifest;
  try {
    manifest = JSON.parse(new TextDecoder().decode(bytes)) as Manifest;
  } catch {
    throw invalid('they have no readable list');
  }
  if (manifest.version !== VERSION) {
    throw new ReasonixError('store_corrupt', `the skills ${hash} were packed by another version of Reasonix`, {
      hint: 'run the same version on every machine, the newest',
    });
  }
  const { roots, skills, disabled } = manifest;
  if (![roots, skills, disabled].every(Array.isArray)) throw invalid('their list is incomplete');
  for (const skill of [...skills, ...disabled]) {
    const { header, root, folder, files } = skill;
    if (typeof header?.name !== 'string' || roots[root] === undefined) throw invalid('a skill has no name or no root');
    if (folder !== '' && !isInside(folder)) throw invalid(`a skill lies in ${JSON.stringify(folder)}`);
    for (const { path, hash: of } of files) {
      if (!isInside(path)) throw invalid(`a file of ${header.name} has the path ${JSON.stringify(path)}`);
      if (!isHash(of)) throw invalid(`a file of ${header.name} has no hash`);
    }
  }
  return manifest;
}

/** A relative path that stays below where it starts, on every system. */
export const isInside = (path: unknown): path is string =>
  typeof path === 'string' &&
  !/[\0\\:]/.test(path) &&
  path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

/** The hashes of everything that a packed library consists of, but for itself. */
export const hashesOf = ({ skills }: Pick<Manifest, 'skills'>): string[] =>
  skills.flatMap(({ files }) => files.map(({ hash }) => hash));
