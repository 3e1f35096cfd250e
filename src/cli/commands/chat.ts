import { ReasonixError } from '../../core/errors.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { SessionHandle } from '../../runtime/session-handle.ts';
import type { SessionStore } from '../../store/contract.ts';
import { type ChatState, chatCommand } from '../chat/chat-commands.ts';
import { openPrompt } from '../chat/prompt.ts';
import type { FlagValues, Handler } from '../command.ts';
import type { chatFlags } from '../command-flags.ts';
import { EXIT, reportError } from '../failure.ts';
import { note } from '../output.ts';
import { Interrupt } from '../run/interrupt.ts';
import { openRun } from '../run/open-run.ts';
import { startTask } from '../run/start-task.ts';
import { goesOn, targetOf } from '../run/target.ts';
import { type Task, taskOf } from '../run/task.ts';
import { TextView } from '../run/text-view.ts';
import { findSession, noteProblem, withStore } from '../session/open-store.ts';
import { paintFor } from '../terminal.ts';

type Flags = FlagValues<typeof chatFlags>;

export const chat: Handler<typeof chatFlags> = ({ flags }) =>
  withStore(flags, async (store, { folders }) => {
    goesOn(flags);
    const target = await targetOf(flags, store, folders.cwd);
    const talk = await Talk.open(flags, store, target.kind === 'new' ? folders.cwd : target.from.cwd);
    try {
      // Said before somebody has typed a message, not after.
      if (target.kind === 'new') await talk.checkModel();
      else await talk.resume(target.from.session);
      const prompt = openPrompt(folders.reasonixHome);
      note(paintFor(process.stderr)('dim', '/help lists the commands; Ctrl-D leaves'));
      try {
        await talk.run(() => prompt.next());
      } finally {
        prompt.close();
      }
    } finally {
      await talk.close();
    }
    return EXIT.done;
  });

/** A chat: one session after another, a turn a message. */
class Talk {
  readonly #flags: Flags;
  readonly #runtime: Runtime;
  readonly #store: SessionStore;
  readonly #state: ChatState;
  #view: TextView | undefined;

  private constructor(flags: Flags, store: SessionStore, runtime: Runtime, cwd: string) {
    this.#flags = flags;
    this.#store = store;
    this.#runtime = runtime;
    this.#state = { runtime, cwd, handle: undefined, open: (resume) => this.#open(resume) };
    runtime.observe((observation) => this.#view?.observe(observation));
  }

  static async open(flags: Flags, store: SessionStore, cwd: string): Promise<Talk> {
    // The runtime is open before there is a talk, and its questions come later.
    let talk: Talk | undefined;
    const shown = () => (talk === undefined ? undefined : talk.#view);
    const runtime = await openRun(
      { ...flags, cwd },
      {
        store,
        target: { kind: 'new' },
        aside: (question) => shown()?.aside(question) ?? question(),
        onProblem: (text) => shown()?.problem(text) ?? noteProblem(text),
      },
    );
    talk = new Talk(flags, store, runtime, cwd);
    return talk;
  }

  async checkModel(): Promise<void> {
    await this.#runtime.model(this.#flags.model);
  }

  /** Opens a session; a turn that was cut is finished at once. */
  async resume(session: string): Promise<void> {
    const handle = await this.#open(session);
    if (handle.isCut) note('its last turn was cut: finishing that first');
    if (handle.isCut) await this.#turn({ kind: 'none' });
  }

  async run(next: () => Promise<{ kind: 'line'; text: string } | { kind: 'end' }>): Promise<void> {
    for (;;) {
      const line = await next();
      if (line.kind === 'end') break;
      if (line.text.trim() === '') continue;
      try {
        if ((await this.#answer(line.text)) === 'quit') break;
      } catch (error) {
        // A message that failed is no end of the talk; a fault of ours is.
        if (!ReasonixError.isInstance(error)) throw error;
        reportError(error);
      }
    }
    const { handle } = this.#state;
    if (handle) note(`go on with: reasonix chat --resume ${handle.id}`);
  }

  close(): Promise<void> {
    return this.#runtime.close();
  }

  async #answer(text: string): Promise<'quit' | undefined> {
    const before = this.#state.handle;
    const done = await chatCommand(this.#state, text);
    if (done === 'quit') return 'quit';
    const { handle } = this.#state;
    if (done === 'done') {
      if (handle && handle !== before && handle.isCut) await this.resume(handle.id);
      return undefined;
    }
    await this.#turn(taskOf(text, undefined, await this.#runtime.library(this.#state.cwd)));
    return undefined;
  }

  async #turn(task: Task): Promise<void> {
    const handle = this.#state.handle ?? (await this.#open());
    const view = new TextView({ inChat: true, identify: (session) => this.#identify(session) });
    const interrupt = new Interrupt(() => view.say('stopping; press Ctrl-C again to leave'));
    this.#view = view;
    try {
      view.opened(handle.id, undefined);
      view.ended(await startTask(handle, task, interrupt.signal).result);
    } finally {
      this.#view = undefined;
      view.close();
      interrupt.close();
    }
  }

  async #open(resume?: string): Promise<SessionHandle> {
    const handle = await this.#runtime.session({ resume, model: this.#flags.model });
    this.#state.handle = handle;
    return handle;
  }

  async #identify(session: string): Promise<{ parent?: string | undefined; skill?: string | undefined }> {
    const { parent, skill } = await findSession(this.#store, session);
    return { parent: parent?.session, skill };
  }
}
