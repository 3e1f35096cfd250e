import type { ToolContext, ToolOutcome } from './define-tool.ts';

export interface RunSkillInput {
  name: string;
  /** Free text, or a JSON object for a skill with named arguments. */
  arguments?: string | undefined;
  continue_from?: string | undefined;
  fork_from?: string | undefined;
  inputs_from?: string[] | undefined;
  /** One child for each, whose task is `arguments`, if there are any, and then the item. */
  items?: string[] | undefined;
  /** Returns the reference at once; the result comes later. */
  background?: boolean | undefined;
}

export interface WaitSubagentsInput {
  /** Default: every child that runs in the background. */
  refs?: string[] | undefined;
  mode: 'all' | 'any';
  /** Seconds; default as long as it takes. */
  timeout?: number | undefined;
}

export interface CancelSubagentInput {
  ref: string;
  reason?: string | undefined;
}

export interface SendToSubagentInput {
  ref: string;
  message: string;
}

export interface SearchSkillsInput {
  /** Empty lists everything. */
  pattern: string;
  flags: string;
  limit?: number | undefined;
  offset?: number | undefined;
}

export interface InstallSkillInput {
  name: string;
  description: string;
  body: string;
  scope: 'project' | 'user';
  run_as: 'inline' | 'subagent';
  model?: string | undefined;
  allowed_tools?: string[] | undefined;
}

export interface ApplyDiffInput {
  /** A child with a worktree of its own. */
  ref: string;
  /** Drops the changes instead. */
  discard?: boolean | undefined;
}

/** Who searches: a session, or somebody outside of sessions who has a working folder only. */
export type SearchContext = Pick<ToolContext, 'cwd' | 'signal'> & Partial<Pick<ToolContext, 'session'>>;

/**
 * What the skill tools do. The tools know skills and sub-agents only through this interface, which
 * the runtime hands in; every way to run a skill ends in `run`.
 */
export interface SkillService {
  run(input: RunSkillInput, context: ToolContext): Promise<ToolOutcome>;
  read(input: { name: string; arguments?: string | undefined }, context: ToolContext): Promise<ToolOutcome>;
  search(input: SearchSkillsInput, context: SearchContext): Promise<ToolOutcome>;
  install(input: InstallSkillInput, context: ToolContext): Promise<ToolOutcome>;
  listSubagents(context: ToolContext): Promise<ToolOutcome>;
  waitSubagents(input: WaitSubagentsInput, context: ToolContext): Promise<ToolOutcome>;
  cancelSubagent(input: CancelSubagentInput, context: ToolContext): Promise<ToolOutcome>;
  sendToSubagent(input: SendToSubagentInput, context: ToolContext): Promise<ToolOutcome>;
  applyDiff(input: ApplyDiffInput, context: ToolContext): Promise<ToolOutcome>;
}
