import type { ToolRule } from '../core/tool-rules.ts';

export type RunAs = 'inline' | 'subagent';
export type SkillScope = 'project' | 'custom' | 'user' | 'builtin';

/** How a scope is named to models and people. */
export const SOURCE_OF_SCOPE: Record<SkillScope, string> = {
  project: 'Project Skill',
  custom: 'Custom Skill',
  user: 'User Skill',
  builtin: 'Built-in Skill',
};

/** Something odd about a file or a root: every repair, skip and unknown name is one. */
export interface Diagnostic {
  severity: 'error' | 'warning' | 'info';
  /** Stable, kebab-case: `yaml-repaired`, `unknown-tool`, `root-missing`. */
  code: string;
  path: string;
  line?: number | undefined;
  message: string;
  /** Name of the skill it concerns, when there is one. */
  skill?: string | undefined;
}

/** Limits an author sets for a child. `timeout` in milliseconds. */
export interface SkillLimits {
  maxSteps?: number | undefined;
  maxTokens?: number | undefined;
  maxCost?: number | undefined;
  timeout?: number | undefined;
  maxDepth?: number | undefined;
  maxSpawns?: number | undefined;
}

/** The header of a skill. The body stays on disk until the skill is run. */
export interface Skill {
  name: string;
  description: string;
  runAs: RunAs;
  scope: SkillScope;
  /** Absolute path of the markdown file; for built-ins too, although they show none. */
  file: string;
  /** Absolute base folder, for references and scripts: the folder of SKILL.md, or of the flat file. */
  folder: string;
  /** The root it was found under. */
  root: string;
  /** `<name>/SKILL.md`, or a flat `<name>.md` or agent file. */
  layout: 'folder' | 'flat' | 'agent';
  invocation: 'auto' | 'manual';
  disableModelInvocation: boolean;
  userInvocable: boolean;
  /** Unset: every tool of the parent. Empty: none. */
  allowedTools?: ToolRule[] | undefined;
  disallowedTools: ToolRule[];
  readOnly: boolean;
  model?: string | undefined;
  effort?: string | undefined;
  argumentHint?: string | undefined;
  /** Names that `<<name>>` stands for. */
  argumentNames: string[];
  requires: string[];
  /** `skills:`, preloaded into the child. */
  preload: string[];
  /** `required:`, the child's own required skills. */
  required: string[];
  outputSchema?: Record<string, unknown> | undefined;
  limits: SkillLimits;
  inherit: string[];
  isolation?: 'worktree' | undefined;
  license?: string | undefined;
  compatibility?: string | undefined;
  metadata: Record<string, unknown>;
  /** Changes when the file does: made of its path, inode, size and times. */
  stamp: string;
  diagnostics: Diagnostic[];
  /** Other definitions of the name that this one wins over. */
  shadows: { path: string; scope: SkillScope }[];
}

/** A skill's body as it is on disk now, byte for byte after the front matter. */
export interface SkillBody {
  text: string;
  /** SHA-256 of the body, hex. */
  hash: string;
}

export interface RootReport {
  path: string;
  scope: SkillScope;
  status: 'ok' | 'missing' | 'not-a-folder' | 'unreadable' | 'excluded';
  /** Skills that it contributed, shadowed ones included. */
  found: number;
}

/** What a name stands for. */
export type SkillLookup =
  | { status: 'found'; skill: Skill }
  | { status: 'disabled'; name: string }
  | { status: 'ambiguous'; names: string[] }
  | { status: 'unknown'; nearest: string[]; total: number };

/** Names that came, went, or whose file changed between two looks. */
export interface SkillChanges {
  added: string[];
  removed: string[];
  changed: string[];
}

export interface LibraryOptions {
  cwd: string;
  /** The user's home folder. */
  home: string;
  /** `$REASONIX_HOME`, default `<home>/.reasonix`. Its `cache/` may be deleted at any time. */
  reasonixHome: string;
  /** Values of `${NAME}` in paths. Default `process.env`. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Folder of the built-in skills; none when absent. */
  builtins?: string | undefined;
  /** `[skills]` of the configuration, paths not yet expanded. */
  paths?: readonly string[] | undefined;
  excludedPaths?: readonly string[] | undefined;
  disabledSkills?: readonly string[] | undefined;
  /** 1 to 6, default 3. */
  maxDepth?: number | undefined;
}

/** The resolved library: one index that list, search, read and run share. */
export interface SkillLibrary {
  /** Every skill that can be run, sorted by name in code-point order; shadowed and disabled ones are not in it. */
  readonly skills: readonly Skill[];
  readonly disabled: readonly Skill[];
  readonly roots: readonly RootReport[];
  readonly diagnostics: readonly Diagnostic[];
  /** Changes when, and only when, a name comes or goes or a file changes. */
  readonly fingerprint: string;
  find(name: string): SkillLookup;
  /** Reads the body now. @throws ReasonixError `skill_not_found` ("no longer exists") when the file is gone. */
  load(skill: Skill): Promise<SkillBody>;
  /** Looks at the disk again; cheap when nothing changed. */
  refresh(): Promise<SkillChanges>;
}
