import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import { references } from './references.ts';
import type { SkillService, WaitSubagentsInput } from './skill-service.ts';

/** The lax schema that calls are checked with; `parameters` is what a model is shown. */
const input = z
  .object({
    refs: references.nullish(),
    mode: z.enum(['all', 'any']).nullish(),
    timeout: z.coerce.number().min(0).nullish(),
  })
  .transform(
    ({ refs, mode, timeout }): WaitSubagentsInput => ({
      refs: refs ?? undefined,
      mode: mode ?? 'all',
      timeout: timeout ?? undefined,
    }),
  );

/** Waits for children that run in the background, and gives the results of those that have ended. */
export function waitSubagentsTool(service: SkillService): Tool<WaitSubagentsInput> {
  const { description } = toolPrompt('wait_subagents');
  const tool = defineTool({
    name: 'wait_subagents',
    description,
    input,
    effects: 'read',
    execute: (call, context) => service.waitSubagents(call, context),
  });
  return {
    ...tool,
    parameters: {
      type: 'object',
      properties: {
        refs: { type: 'array', items: { type: 'string' } },
        mode: { enum: ['all', 'any'] },
        timeout: { type: 'number' },
      },
    },
  };
}
