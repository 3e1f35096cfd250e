import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import type { CancelSubagentInput, SkillService } from './skill-service.ts';

const input = z.object({ ref: z.string(), reason: z.string().optional() });

/** Ends a child that runs in the background. */
export function cancelSubagentTool(service: SkillService): Tool<CancelSubagentInput> {
  return defineTool({
    name: 'cancel_subagent',
    description: toolPrompt('cancel_subagent').description,
    input,
    effects: 'agent',
    execute: (call, context) => service.cancelSubagent(call, context),
  });
}
