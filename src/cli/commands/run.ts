import { ReasonixError } from '../../core/errors.ts';
import type { RunResult } from '../../runtime/run-report.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { SessionHandle } from '../../runtime/session-handle.ts';
import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import type { FlagValues, Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import { note, print } from '../output.ts';
import { Interrupt } from '../run/interrupt.ts';
import { type OpenRunOptions, withRun } from '../run/open-run.ts';
import { notePendingChanges } from '../run/pending-changes.ts';
import { startTask } from '../run/start-task.ts';
import { goesOn, type Target, targetOf } from '../run/target.ts';
import { taskOf, taskText } from '../run/task.ts';
import { TextView } from '../run/text-view.ts';
import { jsonView, type RunView, streamView } from '../run/view.ts';
import type { onceFlags, RunFlags } from '../run-flags.ts';
import { findSession, noteProblem, withStore } from '../session/open-store.ts';

type Given = FlagValues<RunFlags>;
type Turn = typeof onceFlags;

export const run: Handler<RunFlags> = async ({ flags, args }) => {
  const isOptional = goesOn(flags) && flags.fork === undefined;
  // A skill may need no arguments; what it needs it says itself.
  const text = await taskText(args, { optional: isOptional || (flags.skill !== undefined && process.stdin.isTTY) });
  return runText(flags, text);
};

export const skillRun: Handler<Turn> = async ({ flags, args: [name = '', ...words] }) =>
  runText(
    { ...flags, skill: name },
    words.join(' ') === '-' ? await taskText(words, { optional: true }) : words.join(' '),
  );

export const sessionResume: Handler<Turn> = async ({ flags, args: [reference = '', ...words] }) =>
  runText({ ...flags, resume: reference }, await taskText(words, { optional: true }));

export const sessionFork: Handler<Turn> = async ({ flags, args: [reference = '', ...words] }) => {
  const text = await taskText(words, { optional: true });
  if (text.trim() !== '') return runText({ ...flags, fork: reference }, text);
  return withStore(flags, async (store, { folders }) => {
    const target = await targetOf({ fork: reference }, store, folders.cwd);
    const { id } = await withRun(flags, { store, target }, (runtime) => sessionOf(runtime, target, flags));
    if (flags.output === undefined || flags.output === 'text') print(id);
    else print(JSON.stringify({ session: id, forked_from: reference }));
    return EXIT.done;
  });
};

/** Opens what the flags name, runs the task in it, and says how that ended. */
async function runText(flags: Given, text: string): Promise<number> {
  const interrupt = new Interrupt(() => view?.say('stopping; press Ctrl-C again to leave at once'));
  let view: RunView | undefined;
  try {
    return await withStore(flags, async (store, { folders }) => {
      const target = await targetOf(flags, store, folders.cwd);
      if (flags.continue && target.kind === 'new') note('there is no session in this folder yet: this starts one');
      const shown = viewOf(flags, store);
      view = shown;
      const options: OpenRunOptions = {
        store,
        target,
        aside: (question) => shown.aside(question),
        onProblem: (problem) => shown.problem(problem),
      };
      return withRun(flags, options, async (runtime) => {
        const task = taskOf(text, flags.skill, await runtime.library());
        interrupt.signal.throwIfAborted();
        if (task.kind === 'none' && target.kind !== 'resume') {
          throw new ReasonixError('usage', 'the task is empty', { hint: 'say what there is to do' });
        }
        const stop = runtime.observe((observation) => shown.observe(observation));
        const handle = await sessionOf(runtime, target, flags);
        if (task.kind === 'none' && !handle.isCut) throw nothingToFinish(await findSession(store, handle.id));
        shown.opened(handle.id, target.kind === 'resume' ? (await store.read(handle.id))[0] : undefined);
        const result = await startTask(handle, task, interrupt.signal).result;
        stop();
        shown.ended(result);
        notePendingChanges(result, folders.reasonixHome);
        return exitCode(result);
      });
    });
  } finally {
    view?.close();
    interrupt.close();
  }
}

function viewOf(flags: Given, store: SessionStore): RunView {
  if (flags.output === 'json') return jsonView(noteProblem);
  if (flags.output === 'stream-json') return streamView(noteProblem);
  return new TextView({
    maxSteps: flags['max-steps'],
    identify: async (session) => {
      const { parent, skill } = await findSession(store, session);
      return { parent: parent?.session, skill };
    },
  });
}

function sessionOf(runtime: Runtime, target: Target, { model }: Pick<Given, 'model'>): Promise<SessionHandle> {
  if (target.kind === 'new') return runtime.session({ model });
  const { session } = target.from;
  return runtime.session(target.kind === 'resume' ? { resume: session, model } : { fork: session, model });
}

/** A turn that somebody stopped has ended as well: it goes on with a word of theirs, not by itself. */
function nothingToFinish({ session, status }: SessionSummary): ReasonixError {
  const ended = status === 'cancelled' ? 'was cancelled' : 'has ended';
  const hint = `say how to go on: reasonix run --resume ${session} "…"; others that were cut: reasonix session list`;
  return new ReasonixError('usage', `there is nothing to finish: the last turn of session ${session} ${ended}`, {
    hint,
  });
}

function exitCode({ status }: RunResult): number {
  const codes: Record<RunResult['status'], number> = {
    completed: EXIT.done,
    failed: EXIT.failed,
    limit: EXIT.limit,
    no_answer: EXIT.noAnswer,
    cancelled: EXIT.cancelled,
  };
  return codes[status];
}
