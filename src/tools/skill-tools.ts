import { applyDiffTool } from './apply-diff.ts';
import { cancelSubagentTool } from './cancel-subagent.ts';
import type { Tool } from './define-tool.ts';
import { installSkillTool } from './install-skill.ts';
import { listSubagentsTool } from './list-subagents.ts';
import { readSkillTool } from './read-skill.ts';
import { runSkillTool } from './run-skill.ts';
import { searchSkillsTool } from './search-skills.ts';
import { sendToSubagentTool } from './send-to-subagent.ts';
import type { SkillService } from './skill-service.ts';
import { waitSubagentsTool } from './wait-subagents.ts';

export interface SkillTools {
  /** The newest one is kept: sessions mostly start with the same catalog. */
  run(description: string, background: boolean): Tool;
  search: Tool;
  /** Only where a skill asks for a worktree. */
  applyDiff: Tool;
  /** `read_skill`, `list_subagents`, `install_skill`. */
  others: readonly Tool[];
  /** For children that run beside the turn: `wait_subagents`, `cancel_subagent`, `send_to_subagent`. */
  background: readonly Tool[];
}

const made = new WeakMap<SkillService, SkillTools>();

/** The tools that reach skills. They hold no state of a session, so that all sessions of a service share them. */
export function skillTools(service: SkillService): SkillTools {
  let tools = made.get(service);
  if (!tools) {
    tools = makeTools(service);
    made.set(service, tools);
  }
  return tools;
}

function makeTools(service: SkillService): SkillTools {
  let newest: { tool: Tool; background: boolean } | undefined;
  return {
    run: (description, background) => {
      if (newest?.tool.description !== description || newest.background !== background) {
        newest = { tool: runSkillTool(description, service, background) as Tool, background };
      }
      return newest.tool;
    },
    search: searchSkillsTool(service) as Tool,
    applyDiff: applyDiffTool(service) as Tool,
    others: [readSkillTool(service), listSubagentsTool(service), installSkillTool(service)] as Tool[],
    background: [waitSubagentsTool(service), cancelSubagentTool(service), sendToSubagentTool(service)] as Tool[],
  };
}
