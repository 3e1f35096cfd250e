import { prompt } from '../core/prompts.ts';
import { clipStart } from '../core/text.ts';
import { allows, denies, parseToolRules, type ToolRule } from '../core/tool-rules.ts';
import { defineMiddleware, type Middleware, type ToolRun } from '../session/middleware.ts';
import { type Narrowed, narrowedBy } from '../session/narrowed.ts';
import { type Approval, type ApprovalRequest, Approvals } from './approvals.ts';

export interface PermissionOptions {
  /** What happens to a write that no rule names. Default `ask`. */
  mode?: 'ask' | 'allow' | 'deny' | undefined;
  allow?: readonly string[] | undefined;
  ask?: readonly string[] | undefined;
  deny?: readonly string[] | undefined;
  /**
   * Absent where nobody can be asked; then what would be asked is refused. Asked one question after the
   * other, however many children want something; never for a call that was stopped meanwhile.
   */
  approve?: ((request: ApprovalRequest) => Promise<Approval>) | undefined;
  /** The skills above a session, for `ApprovalRequest.path`. */
  pathOf?: ((session: string) => readonly string[]) | undefined;
}

/** Why a write was refused that somebody might have allowed. */
export const NOBODY_TO_ASK = 'it needs approval and nobody can be asked here';

/** Most that a refusal repeats of what was asked for, in characters: the model has it, and it may be megabytes. */
const LONGEST_SUBJECT = 1_000;

interface NarrowedRules {
  deny: readonly ToolRule[];
  grants: { rules: readonly ToolRule[]; text: string }[];
}

const parsed = new WeakMap<Narrowed, NarrowedRules>();

/** The rules of a session, parsed once: they are frozen with it, and every call is held against them. */
function rulesOf(narrowed: Narrowed): NarrowedRules {
  const known = parsed.get(narrowed);
  if (known) return known;
  const grants = narrowed.grants.map((grant) => ({ rules: parseToolRules(grant).rules, text: grant.join(', ') }));
  const rules = { deny: parseToolRules(narrowed.deny).rules, grants };
  parsed.set(narrowed, rules);
  return rules;
}

type Decision = { kind: 'run' } | { kind: 'ask' } | { kind: 'refuse'; why: string };

/**
 * Decides on every tool call, of every session at every depth: deny rules first, then what the skills
 * above leave, then ask and allow rules; reads and delegation run, writes follow the mode.
 */
export function permissions(options: PermissionOptions): Middleware {
  const rules = {
    allow: parseToolRules(options.allow ?? []).rules,
    ask: parseToolRules(options.ask ?? []).rules,
    deny: parseToolRules(options.deny ?? []).rules,
  };
  const approvals = new Approvals(options.pathOf ?? (() => []));

  function decide(run: ToolRun): Decision {
    const { tool, input, turn } = run;
    const subject = tool.subject(input);
    const matches = (list: readonly ToolRule[]) => allows(list, tool.name, subject);
    if (denies(rules.deny, tool.name, subject)) return { kind: 'refuse', why: 'a deny rule forbids it' };
    for (const narrowed of narrowedBy(turn.thread)) {
      const { deny, grants } = rulesOf(narrowed);
      if (narrowed.readOnly && tool.effects === 'write') return { kind: 'refuse', why: 'this session is read-only' };
      if (denies(deny, tool.name, subject)) return { kind: 'refuse', why: 'the skill disallows it' };
      const outside = grants.find(({ rules: grant }) => !matches(grant));
      if (outside) return { kind: 'refuse', why: `the skill allows only ${outside.text || 'no tools'}` };
    }
    // A part of a compound command is enough to ask, as it is to refuse.
    if (denies(rules.ask, tool.name, subject)) return { kind: 'ask' };
    if (options.mode !== 'deny' && tool.staysInScratch?.(input, run.context)) return { kind: 'run' };
    // Of a turn that another process has begun: what the person there allowed.
    const { allow = [], yes = false } = turn.thread.turn?.terms ?? {};
    const isAllowed = matches(rules.allow) || (allow.length > 0 && matches(parseToolRules(allow).rules));
    if (tool.effects !== 'write' || isAllowed || yes || options.mode === 'allow') return { kind: 'run' };
    if (options.mode === 'deny') return { kind: 'refuse', why: 'writes are switched off' };
    return { kind: 'ask' };
  }

  return defineMiddleware({
    name: 'permissions',
    async aroundTool(run, next) {
      const { tool, input } = run;
      const subject = tool.subject(input);
      const shown = clipStart(subject, LONGEST_SUBJECT);
      const refuse = (why: string) => ({
        content: prompt('not-allowed', { tool: tool.name, subject: shown === '' ? '' : `(${shown})`, why }),
        isError: true,
      });
      const decision = decide(run);
      if (decision.kind === 'refuse') return refuse(decision.why);
      if (decision.kind === 'ask') {
        if (!options.approve) return refuse(NOBODY_TO_ASK);
        if (!(await approvals.allow(run, subject, options.approve))) return refuse('the user said no');
      }
      return next(run);
    },
  });
}
