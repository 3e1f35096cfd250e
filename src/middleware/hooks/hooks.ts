import type { StoredEvent } from '../../core/events.ts';
import type { HookMoment, HookSettings } from '../../core/hook-settings.ts';
import { linkSignals } from '../../core/linked-signal.ts';
import { prompt } from '../../core/prompts.ts';
import { clipStart } from '../../core/text.ts';
import { wildcardMatches } from '../../core/wildcard.ts';
import type { Observation } from '../../session/host.ts';
import { defineMiddleware, type Middleware, type SessionInfo, type TurnView } from '../../session/middleware.ts';
import type { EnvironmentRules } from '../../tools/shell-environment.ts';
import { type HookRun, runHookCommand } from './run-command.ts';

const TIMEOUT = 60_000;

/** How often one turn may be held back at its end: a hook that always blocks must not hold it for ever. */
const MOST_HOLDS = 5;

/** Longest text of a hook that a model gets, in characters. */
const LONGEST_REASON = 8_000;

export interface HooksOptions {
  hooks: readonly HookSettings[];
  env: NodeJS.ProcessEnv;
  secrets: EnvironmentRules;
  onProblem(text: string): void;
}

/** The middleware, and what it needs of the runtime around it. */
export interface Hooks {
  middleware: Middleware;
  /** Hears what is logged, for the moments that only tell. */
  observe(observation: Observation): void;
  /** Forgets a session of which this process ran a turn, unless it was started here: it does not end here. */
  leave(session: string): void;
  /** Runs the hooks of the end of the sessions of this runtime, and waits for those that still run. */
  close(): Promise<void>;
}

type Facts = Record<string, unknown>;

/**
 * Commands around the loop. Those before something and at the end of a turn are waited for and may
 * block by exit code 2; the others are told what happened. A hook that fails otherwise stops nothing.
 */
export function hooks(options: HooksOptions): Hooks {
  const { hooks: all, onProblem } = options;
  const known = new Map<string, SessionInfo>();
  /** Roots that were started here, and end here whoever runs their turns. */
  const own = new Set<string>();
  const holds = new Map<string, { turn: number; count: number }>();
  const running = new Set<Promise<unknown>>();
  const closing = new AbortController();

  const wanted = (moment: HookMoment, subject: string): HookSettings[] =>
    all.filter(
      ({ on, match }) => on.includes(moment) && (match?.some((pattern) => wildcardMatches(pattern, subject)) ?? true),
    );

  /** Runs the hooks of a moment one after the other, up to the first that blocks. */
  async function run(moment: HookMoment, subject: string, info: SessionInfo, facts: Facts, signal: AbortSignal) {
    const outputs: string[] = [];
    for (const { name, command, timeout = TIMEOUT } of wanted(moment, subject)) {
      const { session, root, depth, cwd, skill } = info;
      const input = { hook: name, moment, session, root, depth, cwd, skill: skill?.name, ...facts };
      const { env, secrets } = options;
      const ran: HookRun = await runHookCommand({ command, timeout, cwd, input, env, secrets, signal });
      const reason = clipStart(ran.reason, LONGEST_REASON);
      if (ran.status === 'failed') onProblem(`the hook ${name} (${moment}) failed: ${reason}`);
      if (ran.status === 'blocked') return { blocked: { name, reason }, outputs };
      if (ran.stdout.trim() !== '') outputs.push(clipStart(ran.stdout.trim(), LONGEST_REASON));
    }
    return { blocked: undefined, outputs };
  }

  function tell(moment: HookMoment, subject: string, session: string, facts: Facts): void {
    const info = known.get(session);
    if (!info || wanted(moment, subject).length === 0) return;
    const told = run(moment, subject, info, facts, new AbortController().signal).catch(() => {});
    running.add(told);
    void told.finally(() => running.delete(told));
  }

  function mayHold({ info, thread }: TurnView): boolean {
    const turn = thread.turn?.seq ?? 0;
    const before = holds.get(info.session);
    const count = before?.turn === turn ? before.count + 1 : 1;
    holds.set(info.session, { turn, count });
    return count <= MOST_HOLDS;
  }

  const middleware = defineMiddleware({
    name: 'hooks',

    async prepareSession(setup) {
      const { isNew, session, kind, root, depth, cwd, library, skill, required, inherit } = setup;
      const info: SessionInfo = { session, kind, root, depth, cwd, library, skill, required, inherit };
      if (!isNew) {
        known.set(session, info);
        return;
      }
      const moment = kind === 'root' ? 'session_start' : 'subagent_start';
      const { signal, unlink } = linkSignals([closing.signal, ...(setup.signal ? [setup.signal] : [])]);
      const { blocked, outputs } = await run(moment, skill?.name ?? '', info, {}, signal).finally(unlink);
      if (blocked) throw new Error(prompt('hook-blocked', blocked));
      // One that does not start has no end either.
      known.set(session, info);
      if (kind === 'root') own.add(session);
      // What a hook says at the start is frozen with the session, like everything else of its prompt.
      for (const output of outputs) setup.addSection(output);
    },

    async aroundModel(call, next) {
      const { turn, request } = call;
      const facts = { model: request.model, messages: request.messages.length };
      const { blocked } = await run('before_model', request.model, turn.info, facts, call.signal);
      if (blocked) throw new Error(prompt('hook-blocked', blocked));
      return next(call);
    },

    async aroundTool(toolRun, next) {
      const { turn, tool, input, context } = toolRun;
      const facts = { tool: tool.name, input };
      const before = await run('before_tool', tool.name, turn.info, facts, context.signal);
      if (before.blocked) return { content: prompt('hook-blocked', before.blocked), isError: true };
      const outcome = await next(toolRun);
      const result = { ...facts, result: outcome.content, is_error: outcome.isError ?? false };
      const after = await run('after_tool', tool.name, turn.info, result, context.signal);
      if (!after.blocked) return outcome;
      return { ...outcome, content: `${outcome.content}\n\n${prompt('hook-after', after.blocked)}` };
    },

    async finishTurn(turn) {
      const { info, thread, signal } = turn;
      const facts = { answer: thread.turn?.lastText ?? '' };
      const { blocked } = await run('turn_end', info.skill?.name ?? '', info, facts, signal);
      if (!blocked) return { kind: 'end' };
      if (!mayHold(turn)) {
        onProblem(`the hook ${blocked.name} held the turn back ${MOST_HOLDS} times; it ends now: ${blocked.reason}`);
        return { kind: 'end' };
      }
      return { kind: 'continue', origin: 'nudge', message: prompt('hook-held', blocked) };
    },
  });

  function leave(session: string): void {
    if (own.has(session)) return;
    known.delete(session);
    holds.delete(session);
  }

  return {
    middleware,
    leave,
    observe(observation) {
      if (observation.kind !== 'event') return;
      const { session, event } = observation;
      const told = momentOf(event, known.get(session));
      if (told) tell(told.moment, told.subject, session, told.facts);
      // A child that goes on is prepared again.
      if (event.type === 'turn.ended' && known.get(session)?.kind === 'child') leave(session);
    },
    async close() {
      closing.abort(new Error('the runtime is closed'));
      for (const [session, { kind }] of known) if (kind === 'root') tell('session_end', '', session, {});
      await Promise.all(running);
    },
  };
}

/** What an event means for the hooks that are only told. */
function momentOf(
  event: StoredEvent,
  info: SessionInfo | undefined,
): { moment: HookMoment; subject: string; facts: Facts } | undefined {
  switch (event.type) {
    case 'skill.loaded':
      return { moment: 'skill_loaded', subject: event.name, facts: { loaded: event.name, via: event.via } };
    case 'context.compacted':
      return { moment: 'compaction', subject: '', facts: { before: event.before, after: event.after } };
    case 'turn.ended': {
      if (info?.kind !== 'child') return undefined;
      const { status, answer, reason } = event;
      return { moment: 'subagent_end', subject: info.skill?.name ?? '', facts: { status, answer, reason } };
    }
    default:
      return undefined;
  }
}
