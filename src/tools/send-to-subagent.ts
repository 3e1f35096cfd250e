import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import type { SendToSubagentInput, SkillService } from './skill-service.ts';

const input = z.object({ ref: z.string(), message: z.string().min(1) });

/** Steers a child while it runs in the background. */
export function sendToSubagentTool(service: SkillService): Tool<SendToSubagentInput> {
  return {
    ...defineTool({
      name: 'send_to_subagent',
      description: toolPrompt('send_to_subagent').description,
      input,
      effects: 'agent',
      execute: (call, context) => service.sendToSubagent(call, context),
    }),
    parameters: { type: 'object', properties: { ref: { type: 'string' }, message: { type: 'string' } } },
  };
}
