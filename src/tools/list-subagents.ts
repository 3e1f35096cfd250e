import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import type { SkillService } from './skill-service.ts';

/** The children of this session, with what is needed to continue them. */
export function listSubagentsTool(service: Pick<SkillService, 'listSubagents'>): Tool<Record<string, never>> {
  return defineTool({
    name: 'list_subagents',
    description: toolPrompt('list_subagents').description,
    input: z.object({}),
    effects: 'read',
    execute: (_, context) => service.listSubagents(context),
  });
}
