import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import type { SkillService } from './skill-service.ts';

/** Shows what a skill says without running it. */
export function readSkillTool(
  service: Pick<SkillService, 'read'>,
): Tool<{ name: string; arguments?: string | undefined }> {
  return defineTool({
    name: 'read_skill',
    description: toolPrompt('read_skill').description,
    input: z.object({ name: z.string(), arguments: z.string().optional() }),
    effects: 'read',
    subject: ({ name }) => name,
    execute: (input, context) => service.read(input, context),
  });
}
