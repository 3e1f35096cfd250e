import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import type { CancelSubagentInput, SkillService } from './skill-service.ts';

const input = z.object({ ref: z.string(), reason: z.string().optional() });

/** Ends a child that runs in the background. What a model is shown rides on every request: it is the least that does. */
export function cancelSubagentTool(service: SkillService): Tool<CancelSubagentInput> {
  return {
    ...defineTool({
      name: 'cancel_subagent',
      description: toolPrompt('cancel_subagent').description,
      input,
      effects: 'agent',
      execute: (call, context) => service.cancelSubagent(call, context),
    }),
    parameters: { type: 'object', properties: { ref: { type: 'string' }, reason: { type: 'string' } } },
  };
}
