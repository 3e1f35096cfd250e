import { describeError, ReasonixError } from '../core/errors.ts';
import { newSessionId } from '../core/ids.ts';
import { prompt } from '../core/prompts.ts';
import type { Observation } from '../session/host.ts';
import { Thread } from '../session/thread.ts';
import { renderForReading, renderInline } from '../skills/render.ts';
import type { Skill, SkillLibrary } from '../skills/types.ts';
import { findSkill, refused, taskFor } from '../subagents/find-skill.ts';
import { withAnswersOf } from '../subagents/inputs.ts';
import { checkItems } from '../subagents/items.ts';
import { applyDiffTool } from '../tools/apply-diff.ts';
import type { Tool } from '../tools/define-tool.ts';
import { listSubagentsTool } from '../tools/list-subagents.ts';
import { readResultTool } from '../tools/read-result.ts';
import { readSkillTool } from '../tools/read-skill.ts';
import { runSkillTool } from '../tools/run-skill.ts';
import { searchSkillsTool } from '../tools/search-skills.ts';
import type { ApplyDiffInput, RunSkillInput } from '../tools/skill-service.ts';
import { OutsideReferences } from './outside-references.ts';
import { type OutsideRun, outsideRun, type Watched, watched } from './outside-run.ts';
import type { Runtime, Wiring } from './runtime.ts';
import type { SessionHandle } from './session-handle.ts';

export interface OutsideOptions {
  signal: AbortSignal;
  /** Told what happens in the sessions of the call. */
  observe?: ((observation: Observation) => void) | undefined;
}

/** What a call came to. Every failure that the caller's model can act on is one, too. */
export interface OutsideOutcome {
  /** For the caller's model; two when a turn that was cut had to be finished first. */
  texts: string[];
  isError: boolean;
  /** Of a call that was to run a sub-agent. */
  run?: OutsideRun | undefined;
}

type Door = Pick<Wiring, 'catalog' | 'cwd' | 'fullText' | 'live' | 'recordUse' | 'search' | 'shown' | 'store'>;

/**
 * The skills of a folder for agents that are no session of this runtime. They are models: what models may
 * not start is refused. A new thread is a child of a root session of its own, so that calls run side by
 * side; it is gone on with in that session, by whatever process and at whatever time.
 */
export class OutsideCalls {
  readonly #runtime: Runtime;
  readonly #door: Door;
  readonly #references: OutsideReferences;
  /** Root sessions that a call is about to work in, or does. */
  readonly #reopening = new Set<string>();
  /** Stands for the caller where the use of a skill is counted. */
  readonly #caller = newSessionId();

  constructor(runtime: Runtime, door: Door) {
    this.#runtime = runtime;
    this.#door = door;
    this.#references = new OutsideReferences(door.store, door.cwd, door.fullText);
  }

  /** What may be called, as it is now: the description of `run_skill` names the skills. */
  async tools(): Promise<Tool[]> {
    const { cwd } = this.#door;
    const { skills } = await this.#runtime.library();
    const session = this.#caller;
    const info = { session, kind: 'root' as const, root: session, depth: 0, cwd, required: [], inherit: [] };
    const { text } = await this.#door.catalog(info);
    return this.#tools(
      text,
      skills.some(({ isolation }) => isolation === 'worktree'),
    );
  }

  /** Answers a call; `undefined` when there is no such tool. */
  async call(name: string, input: unknown, options: OutsideOptions): Promise<OutsideOutcome | undefined> {
    const tool = this.#tools('', true).find((each) => each.name === name);
    if (!tool) return undefined;
    const parsed = tool.parse(JSON.stringify(input ?? {}));
    if (!parsed.ok) return failure(parsed.problem);
    try {
      switch (name) {
        case 'run_skill':
          return await this.#run(parsed.input as RunSkillInput, options);
        case 'apply_diff':
          return await this.#applyDiff(parsed.input as ApplyDiffInput, options);
        default: {
          const { signal } = options;
          const context = { session: '', call: '', cwd: this.#door.cwd, signal, recovering: false, progress: () => {} };
          const outcome = await tool.execute(parsed.input, context);
          return typeof outcome === 'string'
            ? success(outcome)
            : { texts: [outcome.content], isError: outcome.isError ?? false };
        }
      }
    } catch (error) {
      return failure(describeError(error));
    }
  }

  #tools(catalog: string, withDiffs: boolean): Tool[] {
    const unused = () => Promise.reject(new Error('this call starts a session'));
    const listed = listSubagentsTool({ listSubagents: async () => ({ content: await this.#references.list() }) });
    return [
      runSkillTool(catalog, { run: unused }, false),
      searchSkillsTool({ search: (input, context) => this.#door.search(input, context) }),
      readSkillTool({ read: async (input) => ({ content: await this.#read(input) }) }),
      { ...listed, description: prompt('outside-subagents') },
      readResultTool((_, id) => this.#references.text(id)),
      ...(withDiffs ? [applyDiffTool({ applyDiff: unused })] : []),
    ] as Tool[];
  }

  async #read({ name, arguments: given }: { name: string; arguments?: string | undefined }): Promise<string> {
    const library = await this.#runtime.library();
    const skill = findSkill(library, name, { canSearch: true });
    return renderForReading(skill, (await library.load(skill)).text, given);
  }

  async #run(input: RunSkillInput, options: OutsideOptions): Promise<OutsideOutcome> {
    const library = await this.#runtime.library();
    const skill = this.#find(library, input);
    if (skill?.disableModelInvocation) throw refused('model-invocation-off', { name: skill.name });
    if (skill && input.items) checkItems(skill, input);
    else if (skill?.runAs === 'inline') return success(await this.#inline(library, skill, input));
    else if (skill) taskFor(skill, input);
    const { inputs_from: inputs = [], background: _background, ...call } = input;
    if (inputs.length > 0) {
      const find = async (reference: string) => (await this.#references.find(reference)).thread;
      call.arguments = await withAnswersOf(input.arguments ?? '', inputs, find);
    }
    const reference = input.continue_from ?? input.fork_from;
    if (skill && reference !== undefined) await this.#checkSkill(reference, skill.name);
    const { signal, observe = () => {} } = options;
    const asked = `/${input.name} ${input.arguments ?? ''}`.trim();
    const go = (handle: SessionHandle) => watched(handle.callTool('run_skill', call, asked, { signal }), observe);
    const seen = await (reference === undefined ? go(await this.#runtime.session()) : this.#reopened(reference, go));
    const run = outsideRun(skill?.name ?? input.name, seen, this.#door.shown);
    return { ...outcomeOf(seen), run };
  }

  /** A mistake is said before anything that was cut goes on for it. */
  async #checkSkill(reference: string, wanted: string): Promise<void> {
    const { thread } = await this.#references.find(reference);
    const actual = thread.started?.skill?.name ?? '';
    if (actual === wanted) return;
    throw new ReasonixError('reference_skill', prompt('reference-skill', { reference, actual, wanted }));
  }

  /** A thread outlives its skill: without one, the session knows what to do. */
  #find(library: SkillLibrary, input: RunSkillInput): Skill | undefined {
    try {
      return findSkill(library, input.name, { canSearch: true });
    } catch (error) {
      if (input.continue_from && ReasonixError.isInstance(error, 'skill_not_found')) return undefined;
      throw error;
    }
  }

  /** Whether the caller still has an earlier text in its context is not known here: it gets the whole one. */
  async #inline(library: SkillLibrary, skill: Skill, input: RunSkillInput): Promise<string> {
    if (input.continue_from || input.fork_from || input.inputs_from?.length) {
      throw refused('inline-no-thread', { name: skill.name });
    }
    const body = await library.load(skill);
    const content = await renderInline(skill, body.text, input.arguments);
    await this.#door.recordUse(skill.name, this.#caller);
    return content;
  }

  async #applyDiff(input: ApplyDiffInput, { signal, observe = () => {} }: OutsideOptions): Promise<OutsideOutcome> {
    const asked = `apply_diff ${input.ref}${input.discard ? ' (discard)' : ''}`;
    return outcomeOf(
      await this.#reopened(input.ref, (handle) =>
        watched(handle.callTool('apply_diff', input, asked, { signal }), observe),
      ),
    );
  }

  /**
   * Works in the session that a sub-agent belongs to. A call in it that was cut is finished first; a turn
   * of its own model is not this caller's to finish.
   */
  async #reopened<T>(reference: string, work: (handle: SessionHandle) => Promise<T>): Promise<T> {
    const { root } = await this.#references.find(reference);
    const { live, store } = this.#door;
    if (this.#reopening.has(root) || live.has(root)) throw busy(reference);
    this.#reopening.add(root);
    try {
      const handle = await this.#runtime.session({ resume: root });
      if (handle.isCut && !Thread.fold(root, await store.read(root)).hostCall) {
        throw new ReasonixError('reference_busy', prompt('outside-cut', { reference, root }));
      }
      return await work(handle);
    } catch (error) {
      throw ReasonixError.isInstance(error, 'session_busy') ? busy(reference, error) : error;
    } finally {
      this.#reopening.delete(root);
    }
  }
}

const busy = (reference: string, cause?: unknown): ReasonixError =>
  new ReasonixError('reference_busy', prompt('outside-busy', { reference }), { cause });

const success = (text: string): OutsideOutcome => ({ texts: [text], isError: false });
const failure = (text: string): OutsideOutcome => ({ texts: [text], isError: true });

function outcomeOf({ result, results, unasked }: Watched): OutsideOutcome {
  const texts = results.map(({ content }) => content);
  if (texts.length === 0) texts.push(result.error ?? result.answer);
  if (unasked.size > 0) texts.push(prompt('outside-unasked', { tools: [...unasked].join(', ') }));
  return { texts, isError: results.at(-1)?.isError ?? true };
}
