import { platform } from 'node:os';
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { ReasonixError } from '../core/errors.ts';
import type { EventOf } from '../core/events.ts';
import { newSessionId } from '../core/ids.ts';
import { prompt } from '../core/prompts.ts';
import type { Compactor } from '../middleware/compaction/compactor.ts';
import type { RequiredSet } from '../middleware/required-skills.ts';
import type { Models } from '../models/contract.ts';
import { forkHistory } from '../session/fork.ts';
import type { Observation, SessionHost, SessionPlan } from '../session/host.ts';
import type { Middleware, SessionInfo, SkillPlace } from '../session/middleware.ts';
import { Session } from '../session/session.ts';
import { startOf } from '../session/started.ts';
import { Thread } from '../session/thread.ts';
import type { Terms } from '../session/turn-result.ts';
import type { Catalog } from '../skills/catalog.ts';
import type { SkillLibrary } from '../skills/types.ts';
import type { SessionStore } from '../store/contract.ts';
import type { Applied, Isolation } from '../subagents/isolation.ts';
import type { LiveSessions } from '../subagents/live.ts';
import type { Tool, ToolContext, ToolOutcome } from '../tools/define-tool.ts';
import type { McpStatus } from '../tools/mcp/servers.ts';
import type { FullResultLookup } from '../tools/read-result.ts';
import type { SearchSkillsInput } from '../tools/skill-service.ts';
import type { RootLimits } from './limits.ts';
import { insertMiddleware, type Placement } from './middleware-order.ts';
import type { EngineAccess } from './open-engine.ts';
import type { SessionOptions } from './options.ts';
import { OutsideCalls } from './outside-calls.ts';
import { SessionHandle } from './session-handle.ts';
import { SkillHandle } from './skill-handle.ts';
import type { Work, WorkOptions } from './worker.ts';

/** The parts of a runtime, wired by `openRuntime`. */
export interface Wiring {
  readonly config: Config;
  readonly cwd: string;
  readonly store: SessionStore;
  readonly models: Models;
  readonly live: LiveSessions;
  readonly host: Omit<SessionHost, 'chain'> & { chain: readonly Middleware[] };
  readonly compactor: Compactor;
  /** Limits of root turns, by caller and configuration. */
  readonly limits: RootLimits;
  /** Name of the model for new sessions; default the configuration's. */
  readonly model: string | undefined;
  readonly systemPrompt: string | undefined;
  /** Those of a working folder, for sessions with these packed skills or with its own. */
  tools(cwd: string, library?: string): readonly Tool[];
  readonly isolation: Isolation;
  library(place: SkillPlace): Promise<SkillLibrary>;
  /** With what has changed on disk meanwhile: a program may have run for days. */
  libraryNow(place: SkillPlace): Promise<SkillLibrary>;
  /** Puts the skills of a folder into the store and gives their hash. Absent where new sessions bring none. */
  readonly pack: ((cwd: string) => Promise<string>) | undefined;
  required(info: SessionInfo): Promise<RequiredSet>;
  recordUse(skill: string, session: string): Promise<void>;
  /** What `run_skill` says in a session that starts now. */
  catalog(info: SessionInfo): Promise<Catalog>;
  search(input: SearchSkillsInput, context: Pick<ToolContext, 'cwd' | 'signal'>): Promise<ToolOutcome>;
  /** Whole texts behind what was clipped in a session, and answers of its children. */
  fullText: FullResultLookup;
  /** A child's answer as it leaves the runtime beside the result of a call: bounded, and without keys. */
  shown(answer: string, reference: string): string;
  /** Observations of a session and its descendants, until the returned function is called. */
  subscribe(session: string, listener: (observation: Observation) => void): () => void;
  /** Observations of every session. */
  observe(listener: (observation: Observation) => void): () => void;
  mcpStatus(): McpStatus[];
  /** Absent where this process runs the turns of its sessions. */
  readonly engine: EngineAccess | undefined;
  /** What whoever begins a turn here lets it do on top of the configuration, wherever it runs. */
  readonly allowed: Pick<Terms, 'allow' | 'yes'>;
  /** The first event of a session that runs here, or is watched from here. */
  identify(session: string): EventOf<'session.started'> | undefined;
  /** Tells that a turn which this process ran for others is over here. */
  left(session: string): void;
  /** Makes a session known whose events are observed although it runs elsewhere. */
  met(started: EventOf<'session.started'>): void;
  onProblem(text: string): void;
  close(): Promise<void>;
}

/** Everything that a program needs to run sessions and skills. Made by `openRuntime`. */
export class Runtime {
  readonly #wiring: Wiring;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  get config(): Config {
    return this.#wiring.config;
  }

  get store(): SessionStore {
    return this.#wiring.store;
  }

  /** The skills of the working folder, or of another one, as they are on disk now. */
  library(cwd = this.#wiring.cwd): Promise<SkillLibrary> {
    return this.#wiring.libraryNow({ cwd });
  }

  /** Adds a middleware for sessions that are opened from now on; innermost unless it is placed. */
  use(middleware: Middleware, place: Placement = {}): this {
    const { host } = this.#wiring;
    host.chain = insertMiddleware(host.chain, middleware, place);
    return this;
  }

  /** How the MCP servers of the configuration stand; none is started before a session asks for tools. */
  mcpStatus(): McpStatus[] {
    return this.#wiring.mcpStatus();
  }

  /** Watches every session of this runtime. Returns the way to stop. */
  observe(listener: (observation: Observation) => void): () => void {
    return this.#wiring.observe(listener);
  }

  /**
   * The model that a new session gets: by its name, or the configured one. Nothing is asked of it.
   * @throws ReasonixError `config` without any provider, `model_not_found`, `provider_auth` without a key.
   */
  async model(name?: string): Promise<{ provider: string; model: string }> {
    const { provider, model } = await this.#wiring.models.resolve(name ?? this.#wiring.model);
    return { provider, model };
  }

  /**
   * Starts a session, or opens one that exists.
   * @throws ReasonixError `session_not_found`, `session_busy`, `model_not_found`.
   */
  async session(options: SessionOptions = {}): Promise<SessionHandle> {
    const session = options.resume ? await this.#open(options.resume, options) : await this.#create(options);
    // A new session keeps its lease until its first turn; between turns anybody may go on with it.
    await session.release();
    return new SessionHandle(session, this.#wiring);
  }

  /**
   * A skill to run from code.
   * @example
   * const { answer, continue: follow } = await runtime.skill('research').run('Who calls parseConfig?');
   * const more = await follow('And who calls those?');
   */
  skill(name: string): SkillHandle {
    return new SkillHandle(name, this);
  }

  /**
   * The door for agents that are no session of this runtime, as `reasonix mcp` opens it: they run the
   * skills of the working folder, each new thread in a session of its own.
   */
  outsideCalls(): OutsideCalls {
    return new OutsideCalls(this, this.#wiring);
  }

  /**
   * Takes over what a child with a worktree of its own has changed, into the working folder of its
   * caller, all of it or nothing; or drops it.
   * @throws ReasonixError `worktree` for conflicts, or a child without a worktree; `reference_busy` while it runs.
   */
  applyChanges(reference: string, options: { discard?: boolean | undefined } = {}): Promise<Applied> {
    return this.#wiring.isolation.apply(reference, options);
  }

  /**
   * Runs sessions that were handed to the engine, this runtime's and others', until the claim is closed.
   * @throws ReasonixError `config` where the configuration names no engine.
   */
  async work(options: WorkOptions = {}): Promise<Work> {
    const { engine } = this.#wiring;
    if (!engine) {
      throw new ReasonixError('config', 'there is no engine to take sessions from', {
        hint: 'set engine.url (redis://host:6379) and store.url',
      });
    }
    const { startWorker } = await import('./worker.ts');
    return startWorker(this.#wiring, await engine.get(), options);
  }

  async close(): Promise<void> {
    await this.#wiring.close();
  }

  async #open(id: string, { model }: SessionOptions): Promise<Session> {
    const { host, store, models, tools, isolation, engine } = this.#wiring;
    const thread = Thread.fold(id, await store.read(id));
    // What others run has its worktree where they are.
    if (!engine) await isolation.ready(startOf(thread));
    const session = await Session.open(host, thread, (info) => tools(info.cwd, info.library));
    if (model) session.useModel(await models.resolve(model));
    // One that others run is watched, not taken from them.
    if (!engine) await session.claim();
    return session;
  }

  async #create(options: SessionOptions): Promise<Session> {
    const { host, store, models, config, tools } = this.#wiring;
    if (options.fork) return this.#fork(Thread.fold(options.fork, await store.read(options.fork)), options);
    const resolved = await models.resolve(options.model ?? this.#wiring.model);
    const id = newSessionId();
    const { tag, workspace } = config.engine;
    const here = resolve(options.cwd ?? this.#wiring.cwd);
    const cwd = this.#wiring.engine && tag === undefined ? (workspace ?? here) : here;
    const system = options.system ?? this.#wiring.systemPrompt ?? prompt('system', { cwd, platform: platform() });
    const effort = config.agent.effort;
    const info = await this.#withSkills({ ...rootInfo(id, cwd), tag, required: options.required ?? [] }, here);
    if (info.library === undefined) await this.#wiring.libraryNow(info);
    const plan: SessionPlan = {
      info,
      system,
      tools: tools(cwd, info.library),
      model: { provider: resolved.provider, name: resolved.model, ...(effort ? { effort } : {}) },
      budget: {},
    };
    const session = await Session.create(host, plan);
    session.useModel(resolved);
    return session;
  }

  /**
   * A copy stands on its own, as a root. It keeps the frozen prompt and tools of its source, so that a
   * provider's cache still fits.
   */
  async #fork(source: Thread, { model }: SessionOptions): Promise<Session> {
    const { host, store, models, tools } = this.#wiring;
    const { session: from, lastSeq } = source;
    const { parent: _parent, ...kept } = startOf(source);
    const id = newSessionId();
    const forkedFrom = { session: from, seq: lastSeq };
    const { cwd, required = [], library: own } = kept;
    const { library, required: now } = await this.#withSkills({ ...rootInfo(id, cwd), required, library: own }, cwd);
    const root = { session: id, root: id, kind: 'root' as const, depth: 0, forkedFrom };
    const copy = { ...kept, ...root, library, required: now.length > 0 ? [...now] : undefined };
    const history = forkHistory(from, await store.read(from));
    const session = await Session.copy(host, copy, history, tools(cwd, library));
    if (model) session.useModel(await models.resolve(model));
    return session;
  }

  /** With the skills of its folder as they are now, where new sessions bring their skills, and which of them it requires. */
  async #withSkills(info: SessionInfo, folder: string): Promise<SessionInfo> {
    const { pack, config, required } = this.#wiring;
    if (!pack || info.library !== undefined) return info;
    const library = await pack(folder);
    if (!config.skills.required.enabled) return { ...info, library };
    const { names, unresolved } = await required({ ...info, cwd: folder });
    return { ...info, library, required: [...names, ...unresolved.map(({ name }) => name)] };
  }
}

const rootInfo = (session: string, cwd: string): SessionInfo => ({
  session,
  kind: 'root',
  root: session,
  depth: 0,
  cwd,
  required: [],
  inherit: [],
});
