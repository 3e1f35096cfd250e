import { describeError, ReasonixError } from '../core/errors.ts';
import type { EventOf } from '../core/events.ts';
import type { LimitReached } from '../core/limits.ts';
import { prompt } from '../core/prompts.ts';
import type { SkillPlace } from '../session/middleware.ts';
import { createSkill } from '../skills/create.ts';
import { preloadOf, unknownPreloads } from '../skills/preload.ts';
import { renderAlreadyLoaded, renderForReading, renderInline } from '../skills/render.ts';
import { searchSkills } from '../skills/search.ts';
import type { Skill, SkillLibrary } from '../skills/types.ts';
import type { SessionStore } from '../store/contract.ts';
import type { ToolContext, ToolOutcome } from '../tools/define-tool.ts';
import type {
  ApplyDiffInput,
  CancelSubagentInput,
  InstallSkillInput,
  RunSkillInput,
  SearchContext,
  SearchSkillsInput,
  SendToSubagentInput,
  SkillService,
  WaitSubagentsInput,
} from '../tools/skill-service.ts';
import type { BackgroundTools } from './background-tools.ts';
import { appliedText } from './changes-text.ts';
import { usageEvent } from './child-end.ts';
import { cleanName } from './clean-name.ts';
import { findSkill, refused, taskFor } from './find-skill.ts';
import { GONE, goneSkill, isGone } from './gone-skill.ts';
import type { Isolation } from './isolation.ts';
import { checkItems, runItems } from './items.ts';
import { listChildren } from './list-children.ts';
import type { LiveSession, LiveSessions } from './live.ts';
import { findReference } from './references.ts';
import { resultText } from './result-text.ts';
import type { ChildRequest, SubagentRunner } from './runner.ts';

/** Called with every skill that `install_skill` has written. */
export type InstalledHook = (skill: { name: string; path: string; scope: 'project' | 'user' }) => void;

export interface DispatcherOptions {
  store: SessionStore;
  live: LiveSessions;
  runner: SubagentRunner;
  isolation: Isolation;
  library(place: SkillPlace): Promise<SkillLibrary>;
  /** Where `install_skill` writes: the folder of skills of each scope. */
  installRoot(scope: 'project' | 'user', cwd: string): string;
  /** Writes the use of a skill into the ledger. */
  recordUse(skill: string, session: string): Promise<void>;
  installed?: InstalledHook | undefined;
  /** Whether children may run beside their parent's turn; where they may not, it waits for them. */
  background: boolean;
  /** Most bytes of a result. */
  outputLimit: number;
  backgroundTools: BackgroundTools;
}

/** The answer to every way of running a skill: looks the name up, then renders it or starts a child. */
export class Dispatcher implements SkillService {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  run(input: RunSkillInput, context: ToolContext): Promise<ToolOutcome> {
    return answering(async () => {
      const caller = this.#caller(context);
      const gone = input.continue_from ? await this.#goneSkill(input.name, input.continue_from, caller) : undefined;
      if (gone) return this.#runChild(gone, input, caller, context);
      const skill = await this.#find(input.name, caller);
      const isHost = caller.session.thread.hostCall;
      if (skill.disableModelInvocation && !isHost) throw refused('model-invocation-off', { name: skill.name });
      if (input.items) return this.#runItems(skill, { ...input, items: input.items }, caller, context);
      return skill.runAs === 'subagent'
        ? this.#runChild(skill, input, caller, context)
        : this.#runInline(skill, input, caller);
    });
  }

  read(input: { name: string; arguments?: string | undefined }, context: ToolContext): Promise<ToolOutcome> {
    return answering(async () => {
      const caller = this.#caller(context);
      const skill = await this.#find(input.name, caller);
      const { library } = this.#options;
      const body = await (await library(caller.session.info)).load(skill);
      const content = await renderForReading(skill, body.text, input.arguments);
      return {
        content,
        isBounded: true,
        events: [{ type: 'skill.loaded', name: skill.name, hash: body.hash, via: 'read_skill' }],
      };
    });
  }

  search(input: SearchSkillsInput, context: SearchContext): Promise<ToolOutcome> {
    return answering(async () => {
      const library = await this.#options.library(this.#place(context));
      await library.refresh();
      const { pattern, flags, limit, offset } = input;
      const found = await searchSkills(library, { pattern, flags, limit, offset }, { signal: context.signal });
      return { content: JSON.stringify(found) };
    });
  }

  install(input: InstallSkillInput, context: ToolContext): Promise<ToolOutcome> {
    return answering(async () => {
      const root = this.#options.installRoot(input.scope, context.cwd);
      const path = await createSkill({ ...input, root });
      const place = this.#place(context);
      await (await this.#options.library({ cwd: place.cwd })).refresh();
      this.#options.installed?.({ name: input.name, path, scope: input.scope });
      const { name, scope, run_as } = input;
      return {
        content: JSON.stringify({
          ok: true,
          name,
          scope,
          path,
          run_as,
          note: prompt(place.library === undefined ? 'installed' : 'installed-later'),
        }),
      };
    });
  }

  listSubagents(context: ToolContext): Promise<ToolOutcome> {
    return answering(async () => ({ content: await listChildren(this.#options.store, context.session) }));
  }

  applyDiff({ ref, discard }: ApplyDiffInput, context: ToolContext): Promise<ToolOutcome> {
    return answering(async () => {
      const { store, isolation } = this.#options;
      const { info } = this.#caller(context).session;
      const { isAncestral } = await findReference(store, ref, info.root);
      // What a tree that this one was copied from has done is its own to drop.
      if (isAncestral && discard)
        throw new ReasonixError('reference_foreign', prompt('reference-foreign', { reference: ref }));
      return { content: appliedText(await isolation.apply(ref, { discard, folder: info.cwd })) };
    });
  }

  waitSubagents(input: WaitSubagentsInput, context: ToolContext): Promise<ToolOutcome> {
    return answering(() => this.#options.backgroundTools.wait(input, this.#caller(context), context));
  }

  cancelSubagent(input: CancelSubagentInput, context: ToolContext): Promise<ToolOutcome> {
    return answering(() => this.#options.backgroundTools.cancel(input, this.#caller(context), context));
  }

  sendToSubagent(input: SendToSubagentInput, context: ToolContext): Promise<ToolOutcome> {
    return answering(() => this.#options.backgroundTools.send(input, this.#caller(context), context));
  }

  async #find(name: string, { session }: LiveSession): Promise<Skill> {
    const library = await this.#options.library(session.info);
    const canSearch = session.tool('search_skills') !== undefined;
    const options = { disabled: session.thread.disabledSkills, canSearch };
    try {
      return findSkill(library, name, options);
    } catch (error) {
      if (!ReasonixError.isInstance(error, 'skill_not_found')) throw error;
      // It may have been written since the turn began.
      await library.refresh();
      return findSkill(library, name, options);
    }
  }

  /** The skill of a child that outlived it: a thread is gone on with by its own instructions. */
  async #goneSkill(name: string, reference: string, { session }: LiveSession): Promise<Skill | undefined> {
    const library = await this.#options.library(session.info);
    const wanted = cleanName(name);
    if (library.find(name).status !== 'unknown' || library.find(wanted).status !== 'unknown') return undefined;
    const { thread, isAncestral } = await findReference(this.#options.store, reference, session.info.root);
    // One of a tree that this one was copied from would be started anew, for which a body is needed.
    return !isAncestral && thread.started?.skill?.name === wanted ? goneSkill(thread.started) : undefined;
  }

  async #runInline(skill: Skill, input: RunSkillInput, { session }: LiveSession): Promise<ToolOutcome> {
    if (input.continue_from || input.fork_from || input.inputs_from?.length) {
      throw refused('inline-no-thread', { name: skill.name });
    }
    const body = await (await this.#options.library(session.info)).load(skill);
    const loaded = session.thread.loadedSkills.get(skill.name);
    if (loaded?.hash === body.hash && !input.arguments) return { content: renderAlreadyLoaded(skill) };
    const content = await renderInline(skill, body.text, input.arguments);
    await this.#options.recordUse(skill.name, session.id);
    return { content, isBounded: true, events: [loadedEvent(skill, body.hash)] };
  }

  async #runChild(skill: Skill, input: RunSkillInput, parent: LiveSession, context: ToolContext): Promise<ToolOutcome> {
    const { continue_from: continueFrom, fork_from: forkFrom, inputs_from: inputsFrom } = input;
    const task = taskFor(skill, input);
    const body = isGone(skill) ? GONE : await (await this.#options.library(parent.session.info)).load(skill);
    const { call, signal, recovering } = context;
    const request = { parent, call, skill, body, task, continueFrom, forkFrom, inputsFrom, signal, recovering };
    const note = continueFrom ? undefined : await this.#unknownPreloads(skill, context);
    if (this.#options.background && input.background && !parent.session.thread.hostCall && mayRunBeside(request)) {
      return withNote(await this.#runBeside(request, parent), note);
    }
    const result = await this.#options.runner.run(request);
    await this.#options.recordUse(skill.name, parent.session.id);
    return {
      content: resultText({ ...result, note }),
      isError: result.turn.status !== 'completed' && result.turn.status !== 'limit',
      child: result.reference,
      events: [usageEvent(call, result), ...loadedEvents(skill, body.hash)],
    };
  }

  async #runItems(
    skill: Skill,
    input: RunSkillInput & { items: string[] },
    parent: LiveSession,
    context: ToolContext,
  ): Promise<ToolOutcome> {
    const { call, signal, recovering } = context;
    checkItems(skill, input);
    const { store, runner, outputLimit: limit } = this.#options;
    const body = await (await this.#options.library(parent.session.info)).load(skill);
    const outcome = await runItems({ runner, store, parent, call, skill, body, input, signal, recovering, limit });
    if (!outcome.events) return outcome;
    await this.#options.recordUse(skill.name, parent.session.id);
    const note = await this.#unknownPreloads(skill, context);
    return withNote({ ...outcome, events: [...outcome.events, loadedEvent(skill, body.hash, 'items')] }, note);
  }

  /** What the caller, and whoever watches, are told of `skills:` that do not exist. */
  async #unknownPreloads(skill: Skill, context: ToolContext): Promise<string | undefined> {
    if (skill.preload.length === 0) return undefined;
    const { unknown } = preloadOf(skill, await this.#options.library(this.#place(context)));
    const note = unknownPreloads(skill, unknown);
    if (note) context.progress(note);
    return note;
  }

  /** The child is durable when this returns; it runs once the events are, too. */
  async #runBeside(request: ChildRequest, { background, session }: LiveSession): Promise<ToolOutcome> {
    const { call, skill, body } = request;
    if (!background) throw new Error(`the turn of session ${session.id} has no place for children beside it`);
    const child = await background.start(request);
    await this.#options.recordUse(skill.name, session.id);
    return {
      content: prompt('subagent-started', { reference: child, skill: skill.name }),
      child,
      events: [
        { type: 'subagent.started', call, child, skill: skill.name, background: true },
        ...loadedEvents(skill, body.hash),
      ],
    };
  }

  /** Where the skills of whoever asks are; somebody outside of sessions only has a folder. */
  #place({ session, cwd }: Pick<SearchContext, 'session' | 'cwd'>): SkillPlace {
    return this.#options.live.get(session ?? '')?.session.info ?? { cwd };
  }

  #caller(context: ToolContext): LiveSession {
    const caller = this.#options.live.get(context.session);
    if (!caller) throw new Error(`session ${context.session} does not run here`);
    return caller;
  }
}

/** A turn that others may go on with is left while its children run; one with a worktree runs only here. */
const mayRunBeside = ({ parent, skill }: ChildRequest): boolean =>
  parent.session.thread.turn?.terms === undefined || skill.isolation !== 'worktree';

const withNote = (outcome: ToolOutcome, note: string | undefined): ToolOutcome =>
  note === undefined ? outcome : { ...outcome, content: `${outcome.content}\n\n${note}` };

const loadedEvent = (
  skill: Skill,
  hash: string,
  via: EventOf<'skill.loaded'>['via'] = 'run_skill',
): EventOf<'skill.loaded'> => ({ type: 'skill.loaded', name: skill.name, hash, via });

const loadedEvents = (skill: Skill, hash: string) => (isGone(skill) ? [] : [loadedEvent(skill, hash)]);

/** Errors of our own become results that the model can act on; anything else is a fault and goes on up. */
async function answering(work: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  try {
    return await work();
  } catch (error) {
    if (!ReasonixError.isInstance(error) || error.code === 'cancelled') throw error;
    const limit = error.code === 'limit' ? (error as LimitReached).hit : undefined;
    return { content: describeError(error), isError: true, limit };
  }
}
