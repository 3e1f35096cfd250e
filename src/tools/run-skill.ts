import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import { references } from './references.ts';
import type { RunSkillInput, SkillService } from './skill-service.ts';

/** Models copy argument objects as they are; text is what the skill gets in the end. */
const argumentsText = z
  .union([z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown()), z.number(), z.boolean(), z.null()])
  .transform((value) => (typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value)));

const texts = z.union([z.array(z.unknown()), z.string()]).transform((value): string[] => {
  const list = Array.isArray(value) ? value : listIn(value);
  return list.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
});

/** Models write a list as its JSON text, too. */
function listIn(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [text];
  } catch {
    return [text];
  }
}

/** The lax schema that calls are checked with; `parameters` is what a model is shown. */
const input = z
  .object({
    name: z.string().optional(),
    skill_name: z.string().optional(),
    arguments: argumentsText.optional(),
    continue_from: z.string().nullish(),
    fork_from: z.string().nullish(),
    inputs_from: references.nullish(),
    items: texts.nullish(),
    background: z.union([z.boolean(), z.stringbool()]).nullish(),
  })
  .transform((value, context): RunSkillInput => {
    const name = value.name ?? value.skill_name;
    if (name === undefined) {
      context.addIssue({ code: 'custom', path: ['name'], message: 'required: the name of a skill' });
      return z.NEVER;
    }
    return {
      name,
      arguments: value.arguments,
      continue_from: value.continue_from || undefined,
      fork_from: value.fork_from || undefined,
      inputs_from: value.inputs_from ?? undefined,
      items: value.items ?? undefined,
      background: value.background ?? undefined,
    };
  });

/**
 * `description` carries the catalog, or the pointer to search; it is frozen with the session. Without
 * `background` the model is not told that children can run beside its turn.
 */
export function runSkillTool(
  description: string,
  service: Pick<SkillService, 'run'>,
  background = true,
): Tool<RunSkillInput> {
  const { parameters } = toolPrompt('run_skill');
  const text = (name: string) => ({ type: 'string', ...(parameters[name] ? { description: parameters[name] } : {}) });
  const tool = defineTool({
    name: 'run_skill',
    description,
    input,
    effects: 'agent',
    subject: ({ name }) => name,
    execute: (call, context) => service.run(call, context),
  });
  return {
    ...tool,
    parameters: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        arguments: text('arguments'),
        continue_from: text('continue_from'),
        fork_from: text('fork_from'),
        inputs_from: { type: 'array', items: { type: 'string' }, description: parameters.inputs_from },
        items: { type: 'array', items: { type: 'string' }, description: parameters.items },
        ...(background ? { background: { type: 'boolean', description: parameters.background } } : {}),
      },
      required: ['name'],
    },
  };
}
