import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import type { SearchSkillsInput, SkillService } from './skill-service.ts';

/** Finds skills by what they say; an empty pattern lists all. */
export function searchSkillsTool(service: Pick<SkillService, 'search'>): Tool<SearchSkillsInput> {
  const { description, parameters } = toolPrompt('search_skills');
  return defineTool({
    name: 'search_skills',
    description,
    input: z.object({
      pattern: z
        .string()
        .default('')
        .describe(parameters.pattern ?? ''),
      flags: z
        .string()
        .default('')
        .describe(parameters.flags ?? ''),
      limit: z.int().min(1).max(1000).optional(),
      offset: z.int().min(0).optional(),
    }),
    effects: 'read',
    subject: ({ pattern }) => pattern,
    execute: (input, context) => service.search(input, context),
  });
}
