import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import type { InstallSkillInput, SkillService } from './skill-service.ts';

/** Writes a new skill, which can be run at once. */
export function installSkillTool(service: SkillService): Tool<InstallSkillInput> {
  const { description, parameters } = toolPrompt('install_skill');
  return defineTool({
    name: 'install_skill',
    description,
    input: z.object({
      name: z.string(),
      description: z.string().describe(parameters.description ?? ''),
      body: z.string(),
      scope: z.enum(['project', 'user']).default('project'),
      run_as: z.enum(['inline', 'subagent']).default('inline'),
      model: z.string().optional(),
      allowed_tools: z.array(z.string()).optional(),
    }),
    effects: 'write',
    subject: ({ name }) => name,
    execute: (input, context) => service.install(input, context),
  });
}
