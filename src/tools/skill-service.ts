import type { ToolContext, ToolOutcome } from './define-tool.ts';

export interface RunSkillInput {
  name: string;
  /** Free text, or a JSON object for a skill with named arguments. */
  arguments?: string | undefined;
  continue_from?: string | undefined;
  fork_from?: string | undefined;
  inputs_from?: string[] | undefined;
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

/**
 * What the skill tools do. The tools know skills and sub-agents only through this interface, which
 * the runtime hands in; every way to run a skill ends in `run`.
 */
export interface SkillService {
  run(input: RunSkillInput, context: ToolContext): Promise<ToolOutcome>;
  read(input: { name: string; arguments?: string | undefined }, context: ToolContext): Promise<ToolOutcome>;
  search(input: SearchSkillsInput, context: ToolContext): Promise<ToolOutcome>;
  install(input: InstallSkillInput, context: ToolContext): Promise<ToolOutcome>;
  listSubagents(context: ToolContext): Promise<ToolOutcome>;
}
