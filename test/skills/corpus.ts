import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { type ParsedSkill, parseSkill } from '../../src/skills/parse.ts';

/** Public skill libraries that lie beside the repository when it is developed; not part of it. */
export const CORPUS = resolve(import.meta.dirname, '../../../shared/corpus');
export const HAS_CORPUS = existsSync(join(CORPUS, 'edge.tsv'));
if (!HAS_CORPUS) console.warn(`skipped: the tests over public skill libraries need ${CORPUS}`);

export interface EdgeRow {
  kind: string;
  path: string;
  right: string;
}

export function edgeRows(): EdgeRow[] {
  if (!HAS_CORPUS) return [];
  const lines = readFileSync(join(CORPUS, 'edge.tsv'), 'utf8').split('\n').slice(1);
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [kind, path, right] = line.split('\t') as [string, string, string];
      return { kind, path, right };
    });
}

export function parseFile(file: string): Promise<ParsedSkill> {
  const isSkill = basename(file).toLowerCase() === 'skill.md';
  const layout = isSkill ? 'folder' : /\/agents\//.test(file) ? 'agent' : 'flat';
  return parseSkill(readFileSync(file), { file, scope: 'custom', root: CORPUS, layout });
}

export function markdownFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.md$/i.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
