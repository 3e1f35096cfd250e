import type { Tool } from './define-tool.ts';
import { installSkillTool } from './install-skill.ts';
import { listSubagentsTool } from './list-subagents.ts';
import { readSkillTool } from './read-skill.ts';
import { runSkillTool } from './run-skill.ts';
import { searchSkillsTool } from './search-skills.ts';
import type { SkillService } from './skill-service.ts';

export interface SkillTools {
  /** The newest one is kept: sessions mostly start with the same catalog. */
  run(description: string): Tool;
  search: Tool;
  /** `read_skill`, `list_subagents`, `install_skill`. */
  others: readonly Tool[];
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
  let newest: Tool | undefined;
  return {
    run: (description) => {
      if (newest?.description !== description) newest = runSkillTool(description, service) as Tool;
      return newest;
    },
    search: searchSkillsTool(service) as Tool,
    others: [readSkillTool(service), listSubagentsTool(service), installSkillTool(service)] as Tool[],
  };
}
