import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import type { ApplyDiffInput, SkillService } from './skill-service.ts';

/** Takes over, or drops, what a child with a worktree of its own has changed. */
export function applyDiffTool(service: Pick<SkillService, 'applyDiff'>): Tool<ApplyDiffInput> {
  const { description, parameters } = toolPrompt('apply_diff');
  return defineTool({
    name: 'apply_diff',
    description,
    input: z.object({
      ref: z.string().describe(parameters.ref ?? ''),
      discard: z
        .boolean()
        .optional()
        .describe(parameters.discard ?? ''),
    }),
    effects: 'write',
    subject: ({ ref }) => ref,
    execute: (input, context) => service.applyDiff(input, context),
  });
}
