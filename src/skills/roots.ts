import { realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { kindOf, prefixOf } from './folders.ts';
import type { Diagnostic, LibraryOptions, RootReport, SkillScope } from './types.ts';

/** A folder that skills are looked for in. */
export interface Root {
  /** Absolute, as configured or found. */
  path: string;
  /** Without links; equals `path` when the folder is not there. */
  real: string;
  scope: SkillScope;
  /** `agents` folders hold sub-agents as flat files only. */
  kind: 'skills' | 'agents';
  /** Flat files are documentation unless a key of their front matter says otherwise. */
  flatNeedsKey: boolean;
  status: RootReport['status'];
}

export interface ResolvedRoots {
  /** Highest precedence first; two paths to one folder are one root. */
  roots: Root[];
  /** Real paths of `excluded_paths`; what lies below them is excluded too. */
  excluded: string[];
  diagnostics: Diagnostic[];
}

/** Folders of products whose skills are read, in their order of precedence. */
const CONVENTIONS = ['.reasonix', '.agents', '.agent', '.claude'] as const;
const WITH_AGENTS: readonly string[] = ['.reasonix', '.claude'];

type Candidate = Pick<Root, 'path' | 'scope' | 'kind' | 'flatNeedsKey'> & {
  /** Somebody named it, so its absence is worth a word. */
  named: boolean;
  /** Shown even when it is missing. */
  shown: boolean;
};

/**
 * All roots in their order: project folders from the working folder up to the repository root, then
 * configured paths, the user's folders, the built-ins. The home folder itself counts as the user's.
 */
export function resolveRoots(options: LibraryOptions): ResolvedRoots {
  const diagnostics: Diagnostic[] = [];
  const project = projectFolders(options.cwd, options.home);
  const base = project.at(-1) ?? options.cwd;
  const expand = (path: string): string | undefined =>
    expandPath(path, { base, home: options.home, env: options.env ?? process.env, diagnostics });
  const excluded = (options.excludedPaths ?? []).flatMap((path) => expand(path) ?? []).map(canonical);
  const candidates = [
    ...project.flatMap((folder, index) => conventional(folder, 'project', index === 0)),
    ...(options.paths ?? []).flatMap((path) => custom(expand(path))),
    ...userFolders(options),
    ...(options.builtins === undefined ? [] : [builtin(options.builtins)]),
  ];
  const roots: Root[] = [];
  const seen = new Set<string>();
  for (const { named, shown, ...candidate } of candidates) {
    const { real, status } = inspect(candidate.path, excluded);
    if (seen.has(real)) continue;
    seen.add(real);
    if (status === 'missing' && !shown) continue;
    roots.push({ ...candidate, real, status });
    if (status !== 'ok' && status !== 'excluded' && (named || status !== 'missing')) {
      diagnostics.push(rootDiagnostic(candidate.path, status));
    }
  }
  return { roots, excluded, diagnostics };
}

/** The working folder and those above it up to the repository root, nearest first; only itself outside a repository. */
function projectFolders(cwd: string, home: string): string[] {
  const homes = new Set([resolve(home), canonical(home)]);
  const folders: string[] = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    folders.push(folder);
    if (exists(join(folder, '.git'))) break;
    if (dirname(folder) === folder) {
      folders.length = 1;
      break;
    }
  }
  return folders.filter((folder) => !homes.has(folder) && !homes.has(canonical(folder)));
}

function conventional(folder: string, scope: SkillScope, shown: boolean): Candidate[] {
  const rest = { scope, named: false, shown } as const;
  return [
    ...CONVENTIONS.map((name) => skillsIn(join(folder, name, 'skills'), name, rest)),
    ...WITH_AGENTS.map((name) => agentsIn(join(folder, name, 'agents'), rest)),
  ];
}

function userFolders({ home, reasonixHome }: LibraryOptions): Candidate[] {
  const rest = { scope: 'user', named: false, shown: true } as const;
  return [
    skillsIn(join(resolve(reasonixHome), 'skills'), '.reasonix', rest),
    ...CONVENTIONS.slice(1).map((name) => skillsIn(join(resolve(home), name, 'skills'), name, rest)),
    agentsIn(join(resolve(reasonixHome), 'agents'), rest),
    agentsIn(join(resolve(home), '.claude', 'agents'), rest),
  ];
}

type Rest = Pick<Candidate, 'scope' | 'named' | 'shown'>;

const skillsIn = (path: string, convention: string, rest: Rest): Candidate => ({
  ...rest,
  path,
  kind: 'skills',
  flatNeedsKey: convention === '.claude',
});

const agentsIn = (path: string, rest: Rest): Candidate => ({ ...rest, path, kind: 'agents', flatNeedsKey: true });

function custom(path: string | undefined): Candidate[] {
  if (path === undefined) return [];
  return [
    {
      path,
      scope: 'custom',
      kind: /[/\\]agents[/\\]?$/.test(path) && WITH_AGENTS.includes(lastFolder(dirname(path))) ? 'agents' : 'skills',
      flatNeedsKey: /[/\\]\.claude[/\\]skills[/\\]?$/.test(path),
      named: true,
      shown: true,
    },
  ];
}

const lastFolder = (path: string): string => path.split(/[/\\]/).at(-1) ?? '';

const builtin = (path: string): Candidate => ({
  path: resolve(path),
  scope: 'builtin',
  kind: 'skills',
  flatNeedsKey: true,
  named: true,
  shown: true,
});

interface Expansion {
  base: string;
  home: string;
  env: NonNullable<LibraryOptions['env']>;
  diagnostics: Diagnostic[];
}

/** `~`, `${VAR}` and paths relative to the project. A variable without a value gives no path at all. */
function expandPath(written: string, { base, home, env, diagnostics }: Expansion): string | undefined {
  let unset: string | undefined;
  const path = written.trim().replace(/\$\{([A-Za-z_]\w*)\}/g, (_, name: string) => {
    const value = env[name];
    if (value === undefined || value === '') unset = name;
    return value ?? '';
  });
  if (unset !== undefined) {
    const message = `the variable ${unset} in the skill path "${written}" is not set: the path is left out`;
    diagnostics.push({ severity: 'warning', code: 'path-variable-unset', path: written, message });
    return undefined;
  }
  if (path === '') return undefined;
  if (path === '~' || /^~[/\\]/.test(path)) return join(home, path.slice(1));
  return isAbsolute(path) ? resolve(path) : resolve(base, path);
}

/** Most roots are not there, so that a missing one must cost no exception. */
function inspect(path: string, excluded: readonly string[]): Pick<Root, 'real' | 'status'> {
  const status = statusOf(path);
  const real = status === 'missing' ? resolve(path) : canonical(path);
  const isOut = excluded.length > 0 && (isExcluded(real, excluded) || isExcluded(resolve(path), excluded));
  return { real, status: isOut ? 'excluded' : status };
}

function statusOf(path: string): Root['status'] {
  switch (kindOf(path)) {
    case 'folder':
      return 'ok';
    case 'missing':
      return isBelowFile(path) ? 'not-a-folder' : 'missing';
    case 'loop':
    case 'unreadable':
      return 'unreadable';
    default:
      return 'not-a-folder';
  }
}

/** Whether the nearest thing above a missing path that is there is no folder. */
function isBelowFile(path: string): boolean {
  const above = dirname(path);
  if (above === path) return false;
  const kind = kindOf(above);
  return kind === 'missing' ? isBelowFile(above) : kind === 'file' || kind === 'other';
}

/** Whether a real path is an excluded one or lies below it. */
export const isExcluded = (real: string, excluded: readonly string[]): boolean =>
  excluded.some((each) => real === each || real.startsWith(prefixOf(each)));

function rootDiagnostic(path: string, status: Root['status']): Diagnostic {
  const what = { missing: 'does not exist', 'not-a-folder': 'is no folder', unreadable: 'cannot be read' }[
    status as 'missing' | 'not-a-folder' | 'unreadable'
  ];
  return { severity: 'warning', code: `root-${status}`, path, message: `the skill folder ${path} ${what}` };
}

function canonical(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return resolve(path);
  }
}

function exists(path: string): boolean {
  const kind = kindOf(path);
  return kind === 'file' || kind === 'folder' || kind === 'other';
}
