import type { ToolRule } from '../../core/tool-rules.ts';
import { type Skill, SOURCE_OF_SCOPE } from '../../skills/types.ts';
import type { Handler } from '../command.ts';
import type { skillShowFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { note, print, printJson } from '../output.ts';
import { shortPath } from '../settings.ts';
import { diagnosticLine, findSkill, loadSkills, skillJson } from '../skills.ts';
import { padWidth, paintFor, printable, printableLine } from '../terminal.ts';

export const skillShow: Handler<typeof skillShowFlags> = async ({ flags, args }) => {
  const { library } = await loadSkills(flags);
  const skill = findSkill(library, args[0]!);
  const { text } = await library.load(skill);
  if (flags.json) {
    const { model, effort, argumentHint, argumentNames, readOnly, limits, requires, preload, required } = skill;
    printJson({
      ...skillJson(skill),
      allowed_tools: skill.allowedTools?.map(ruleText) ?? null,
      disallowed_tools: skill.disallowedTools.map(ruleText),
      read_only: readOnly,
      model: model ?? null,
      effort: effort ?? null,
      argument_hint: argumentHint ?? null,
      arguments: argumentNames,
      requires,
      skills: preload,
      required,
      limits,
      body: text,
    });
    return EXIT.done;
  }
  const paint = paintFor(process.stdout);
  print(paint('bold', printableLine(skill.name)));
  for (const [label, value] of facts(skill)) print(`${paint('dim', padWidth(label, 13))} ${printableLine(value)}`);
  print('');
  // Bytes as they are for a pipe; a terminal gets nothing that could steer it.
  print(process.stdout.isTTY ? printable(text) : text);
  for (const problem of skill.diagnostics) note(diagnosticLine(problem, paintFor(process.stderr)));
  return EXIT.done;
};

function facts(skill: Skill): [label: string, value: string][] {
  const { limits } = skill;
  const limitTexts = [
    limits.maxSteps !== undefined && `${limits.maxSteps} steps`,
    limits.maxTokens !== undefined && `${limits.maxTokens} tokens`,
    limits.maxCost !== undefined && `cost ${limits.maxCost}`,
    limits.timeout !== undefined && `${limits.timeout / 1000} s`,
    limits.maxDepth !== undefined && `depth ${limits.maxDepth}`,
    limits.maxSpawns !== undefined && `${limits.maxSpawns} sub-agents`,
  ].filter((text) => text !== false);
  const all: [string, string | undefined][] = [
    ['description', skill.description],
    ['runs as', skill.runAs],
    ['source', SOURCE_OF_SCOPE[skill.scope]],
    ['path', skill.scope === 'builtin' ? undefined : shortPath(skill.file)],
    ['model', skill.model],
    ['effort', skill.effort],
    ['arguments', skill.argumentHint ?? (skill.argumentNames.join(' ') || undefined)],
    ['tools', skill.allowedTools && (skill.allowedTools.map(ruleText).join(', ') || 'none')],
    ['not allowed', skill.disallowedTools.map(ruleText).join(', ') || undefined],
    ['read-only', skill.readOnly ? 'yes' : undefined],
    ['invocation', skill.invocation === 'manual' ? 'manual' : undefined],
    ['started by', startedBy(skill)],
    ['limits', limitTexts.join(', ') || undefined],
    ['skills', skill.preload.join(', ') || undefined],
    ['required', skill.required.join(', ') || undefined],
    ['shadows', skill.shadows.map(({ path }) => shortPath(path)).join(', ') || undefined],
  ];
  return all.filter((fact): fact is [string, string] => fact[1] !== undefined);
}

function startedBy({ disableModelInvocation, userInvocable }: Skill): string | undefined {
  if (disableModelInvocation) return userInvocable ? 'users only' : 'nobody';
  return userInvocable ? undefined : 'models only';
}

const ruleText = ({ tool, pattern }: ToolRule): string => (pattern === undefined ? tool : `${tool}(${pattern})`);
