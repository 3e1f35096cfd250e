import { basename, dirname, join, resolve } from 'node:path';
import { kindOf, realPath } from '../folders.ts';
import type { SkillPlace } from '../parse.ts';
import { type Root, resolveRoots } from '../roots.ts';
import { type FoundFile, scanRoot } from '../scan.ts';
import type { LibraryOptions } from '../types.ts';
import type { LintProblem } from './problem.ts';
import { isSkillFile } from './strict.ts';

export interface LintTarget extends SkillPlace {
  /** Documentation, unless a key of its front matter says otherwise. */
  needsKey: boolean;
}

export interface Targets {
  targets: LintTarget[];
  /** About roots and folders. */
  problems: LintProblem[];
}

const PRODUCTS = ['.reasonix', '.agents', '.agent', '.claude'];
const DEEPEST = 6;

/** The skills of a path: of a skill's folder, a file, or a folder of skills or of a project. */
export function targetsOfPath(path: string): Targets {
  const kind = kindOf(path);
  if (kind === 'folder') return targetsOfFolder(path);
  if (kind === 'file' && /\.md$/i.test(path)) return { targets: [fileTarget(resolve(path))], problems: [] };
  const message = {
    file: 'no markdown file: a skill is a folder with SKILL.md, or a .md file',
    missing: 'there is no such file or folder',
  }[kind as 'file' | 'missing'];
  return { targets: [], problems: [problem('path', path, message ?? 'cannot be read')] };
}

/** The project's, the configured and the user's skills; built-ins are not theirs to mend. */
export function targetsOfLibrary(options: LibraryOptions): Targets {
  const { roots, excluded, diagnostics } = resolveRoots(options);
  const own = roots.filter(({ scope, status }) => scope !== 'builtin' && status === 'ok');
  const found = own.map((root) => targetsOfRoot(root, { excluded, maxDepth: options.maxDepth ?? 3 }));
  return {
    targets: withoutSame(found.flatMap(({ targets }) => targets)),
    problems: [
      ...diagnostics.map((each) => ({ ...each, fixable: false })),
      ...found.flatMap(({ problems }) => problems),
    ],
  };
}

function fileTarget(file: string): LintTarget {
  const folder = basename(dirname(file));
  const layout = isSkillFile(file) ? 'folder' : folder === 'agents' ? 'agent' : 'flat';
  return { file, layout, scope: 'custom', root: dirname(file), needsKey: false };
}

function targetsOfFolder(path: string): Targets {
  const folder = resolve(path);
  const isAgents = basename(folder) === 'agents';
  const roots = [
    folderRoot(folder, isAgents ? 'agents' : 'skills'),
    ...PRODUCTS.flatMap((product) => [
      folderRoot(join(folder, product, 'skills'), 'skills'),
      folderRoot(join(folder, product, 'agents'), 'agents'),
    ]),
  ].filter(({ path: each }) => kindOf(each) === 'folder');
  const found = roots.map((root) => targetsOfRoot(root, { excluded: [], maxDepth: DEEPEST }));
  return {
    targets: withoutSame(found.flatMap((each) => each.targets)),
    problems: found.flatMap((each) => each.problems),
  };
}

/** In a folder of any name a text without front matter is documentation. */
const folderRoot = (path: string, kind: Root['kind']): Root => ({
  path,
  real: realPath(path),
  scope: 'custom',
  kind,
  flatNeedsKey: basename(path) !== 'skills' || basename(dirname(path)) === '.claude',
  status: 'ok',
});

function targetsOfRoot(root: Root, options: { excluded: readonly string[]; maxDepth: number }): Targets {
  const { found, diagnostics } = scanRoot(root, options);
  const isSkill = found.some(({ file }) => dirname(file) === root.path && isSkillFile(file));
  // the texts beside a SKILL.md belong to it; folders with a SKILL.md of their own do not
  const files = isSkill ? found.filter(({ layout }) => layout === 'folder') : found;
  return {
    targets: files.map((each) => targetOf(each, root)),
    problems: diagnostics.map((each) => ({ ...each, fixable: false })),
  };
}

function targetOf({ file, layout, plugin, needsKey }: FoundFile, { path, scope }: Root): LintTarget {
  return { file, layout, plugin, needsKey, scope, root: path };
}

function withoutSame(targets: readonly LintTarget[]): LintTarget[] {
  const seen = new Set<string>();
  return targets.filter(({ file }) => {
    const real = realPath(file);
    if (seen.has(real)) return false;
    seen.add(real);
    return true;
  });
}

const problem = (code: string, path: string, message: string): LintProblem => ({
  severity: 'error',
  code,
  path,
  message,
  fixable: false,
});
