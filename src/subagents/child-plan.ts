import type { EventOf } from '../core/events.ts';
import { prompt } from '../core/prompts.ts';
import { FOLDER_TOOLS } from '../core/tool-names.ts';
import { narrowTools, parseToolRules, type ToolRule } from '../core/tool-rules.ts';
import type { SessionPlan } from '../session/host.ts';
import type { SessionInfo } from '../session/middleware.ts';
import { joined, type Narrowed, narrowedBy } from '../session/narrowed.ts';
import { renderChildPrompt } from '../skills/render.ts';
import type { Skill, SkillBody } from '../skills/types.ts';
import type { Tool } from '../tools/define-tool.ts';
import type { LiveSession } from './live.ts';

/** What never crosses into a child, whatever its skill says. */
export const NEVER_IN_A_CHILD: readonly string[] = ['install_skill'];

/** Tools that start sessions; a child at the deepest level has none of them. */
export const SPAWNING_TOOLS: readonly string[] = [
  'run_skill',
  'list_subagents',
  'wait_subagents',
  'cancel_subagent',
  'send_to_subagent',
  'apply_diff',
];

/** Tools that can put something into a scratch folder. */
const SCRATCH_TOOLS = ['write_file', 'edit_file', 'shell'];

/** What no skill has to name: it is there when the child's tools may answer at length. */
const ALWAYS: readonly string[] = ['read_result'];

export interface ChildPlanOptions {
  reference: string;
  parent: LiveSession;
  call: string;
  skill: Skill;
  body: SkillBody;
  task: string;
  tools: readonly Tool[];
  model: EventOf<'session.started'>['model'];
  /** It may have no children of its own. */
  isDeepest: boolean;
  /** A folder of its own to work in; without it, its parent's. */
  worktree?: EventOf<'worktree.started'> | undefined;
  /** It is told that only its last message returns, and where it works. */
  hasNotice: boolean;
  /** Its task carries answers of other children. */
  hasInputs: boolean;
}

/** A child's session: the skill's body as system prompt, its own tools only, nothing of the parent. */
export async function planChild(options: ChildPlanOptions): Promise<SessionPlan> {
  const { reference, parent, call, skill, body, task, tools, model } = options;
  const above = parent.session;
  const depth = above.info.depth + 1;
  const info: SessionInfo = {
    session: reference,
    kind: 'child',
    root: above.info.root,
    depth,
    cwd: options.worktree?.cwd ?? above.info.cwd,
    library: above.info.library,
    skill: { name: skill.name, hash: body.hash, path: skill.scope === 'builtin' ? '' : skill.file },
    required: skill.required,
    inherit: skill.inherit,
  };
  const permissions = narrowPermissions(joined(narrowedBy(above.thread)), skill);
  const narrow = narrowingOf(tools, permissions, options.isDeepest);
  const names = narrow(tools.map((tool) => tool.name));
  const has = (wanted: readonly string[]) => wanted.some((name) => names.includes(name));
  const isToldPlace = has(FOLDER_TOOLS) || mayUseMcp(skill, narrow);
  const notice = joinedBy(' ', [
    options.hasNotice ? prompt('child-runtime', { place: isToldPlace ? placeOf(info) : '' }) : '',
    has(SCRATCH_TOOLS) ? prompt('child-scratch') : '',
  ]);
  return {
    info,
    system: await systemPrompt(skill, body, task, { notice, tools }),
    tools,
    narrow,
    isNamed: (name) =>
      (name === 'read_result' && options.hasInputs) ||
      (skill.allowedTools !== undefined && narrowTools([name], skill.allowedTools, []).length > 0),
    history: options.worktree && [options.worktree],
    model,
    budget: {
      steps: skill.limits.maxSteps,
      tokens: skill.limits.maxTokens,
      cost: skill.limits.maxCost,
      time: skill.limits.timeout,
      spawns: skill.limits.maxSpawns,
      depth: skill.limits.maxDepth,
    },
    parent: { session: above.id, call },
    permissions,
    outputSchema: skill.outputSchema,
  };
}

const placeOf = ({ cwd }: SessionInfo): string => `${prompt('child-folder', { cwd })} `;

async function systemPrompt(
  skill: Skill,
  body: SkillBody,
  task: string,
  { notice, tools }: { notice: string; tools: readonly Tool[] },
): Promise<string> {
  // A tool of the program around us is unknown to the library of skills, and there all the same.
  const isThere = (message: string) => tools.some(({ name }) => message.endsWith(`: ${name}`));
  const missing = skill.diagnostics.filter(({ code, message }) => code === 'unknown-tool' && !isThere(message));
  const note =
    missing.length > 0 ? prompt('missing-tools', { note: missing.map((one) => one.message).join('; ') }) : '';
  const schema = skill.outputSchema ? prompt('output-schema', { schema: JSON.stringify(skill.outputSchema) }) : '';
  const runtime = joinedBy('\n', [notice, note]);
  const instructions = await renderChildPrompt(skill, body.text, task);
  return joinedBy(instructions.endsWith('\n') ? '\n' : '\n\n', [instructions, joinedBy('\n\n', [runtime, schema])]);
}

const joinedBy = (gap: string, parts: readonly string[]): string => parts.filter((part) => part !== '').join(gap);

/** Servers may come, and change their tools, after the prompt is written: what its skill allows decides. */
const mayUseMcp = ({ allowedTools = [] }: Skill, narrow: (names: string[]) => string[]): boolean =>
  narrow(['call_tool']).length > 0 || allowedTools.some(({ tool }) => tool.startsWith('mcp__') || tool.includes('*'));

/** The parent's grants and refusals with the skill's own added: they only narrow. */
function narrowPermissions(above: Narrowed | undefined, skill: Skill): Narrowed | undefined {
  const own = skill.allowedTools ? [[...skill.allowedTools.map(ruleText), ...ALWAYS]] : [];
  const permissions: Narrowed = {
    grants: [...(above?.grants ?? []), ...own],
    deny: [...(above?.deny ?? []), ...skill.disallowedTools.map(ruleText)],
    readOnly: (above?.readOnly ?? false) || skill.readOnly,
  };
  const narrows = permissions.grants.length > 0 || permissions.deny.length > 0 || permissions.readOnly;
  return narrows ? permissions : undefined;
}

/** What is left of names of tools. The rules are read once: every middleware asks for names of its own. */
function narrowingOf(
  tools: readonly Tool[],
  permissions: Narrowed | undefined,
  isDeepest: boolean,
): (names: string[]) => string[] {
  const writing = tools.filter((tool) => tool.effects === 'write').map((tool) => tool.name);
  const hasEffects = new Set([...writing, 'apply_diff']);
  const isPossible = (name: string) =>
    !NEVER_IN_A_CHILD.includes(name) &&
    !(isDeepest && SPAWNING_TOOLS.includes(name)) &&
    !(permissions?.readOnly && hasEffects.has(name));
  if (!permissions) return (names) => names.filter(isPossible);
  const deny = parseToolRules(permissions.deny).rules;
  const grants = permissions.grants.map((grant) => parseToolRules(grant).rules);
  return (names) => {
    const start = narrowTools(names.filter(isPossible), undefined, deny);
    return grants.reduce((left, grant) => narrowTools(left, grant, []), start);
  };
}

const ruleText = (rule: ToolRule): string => (rule.pattern === undefined ? rule.tool : `${rule.tool}(${rule.pattern})`);
