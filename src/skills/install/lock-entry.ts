import { hashOf } from '../hash.ts';
import type { SourceSkill } from './discover.ts';
import { grantOf } from './grant.ts';
import type { LockEntry } from './lock.ts';
import { contentOf, type FileMark, type FileMarks } from './on-disk.ts';
import type { NewFile } from './review.ts';
import { type Source, sourceText } from './source.ts';
import type { SourceTree } from './tree.ts';

interface EntryParts {
  skill: SourceSkill;
  path: string;
  files: readonly NewFile[];
  tree: SourceTree;
  source: Source;
  base: string;
}

/** What the lock will say of a skill that is installed at `path`. */
export async function entryOf({ skill, path, files, tree, source, base }: EntryParts): Promise<LockEntry> {
  const marks = new Map<string, FileMark>();
  for (const { path: file, bytes, executable } of files) {
    marks.set(file, { hash: await hashOf(bytes), executable: executable && process.platform !== 'win32' });
  }
  return {
    ...grantOf(skill.skill),
    path,
    source: sourceText(source, base),
    kind: source.kind,
    ref: source.ref ?? null,
    from: skill.from,
    revision: tree.revision,
    content: await contentOf(marks),
    executable: [...marks].filter(([, mark]) => mark.executable).map(([file]) => file),
    files: Object.fromEntries([...marks].map(([file, { hash }]) => [file, hash])),
  };
}

/** The files of an installed skill as its lock has them. */
export const marksOf = ({ files, executable }: Pick<LockEntry, 'files' | 'executable'>): FileMarks => {
  const runnable = new Set(executable);
  return new Map(Object.entries(files).map(([path, hash]) => [path, { hash, executable: runnable.has(path) }]));
};
