import type { LimitName } from '../../core/limits.ts';
import { openRuntime } from '../../runtime/open-runtime.ts';
import type { RuntimeOptions } from '../../runtime/options.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { SessionStore } from '../../store/contract.ts';
import type { FlagValues } from '../command.ts';
import type { turnFlags } from '../run-flags.ts';
import { noteProblem } from '../session/open-store.ts';
import { loadOptions } from '../settings.ts';
import { approver, canAsk } from './approve.ts';
import type { Target } from './target.ts';

/** The flag of each limit, for the texts that say which one was reached. */
const FLAGS: Record<LimitName, string> = {
  steps: '--max-steps',
  tokens: '--max-tokens',
  cost: '--max-cost',
  time: '--timeout',
  spawns: '--max-spawns',
  depth: '--max-depth',
};

export interface OpenRunOptions {
  store: SessionStore;
  target: Target;
  /** Makes room on the screen for a question. */
  aside?: <T>(question: () => Promise<T>) => Promise<T>;
  /** Asks somebody who does not sit at this terminal. */
  approve?: RuntimeOptions['approve'];
  onProblem?: (text: string) => void;
}

/** A runtime by the flags of a run, in the working folder of the session that it goes on with. */
export function openRun(flags: FlagValues<typeof turnFlags>, options: OpenRunOptions): Promise<Runtime> {
  const { store, target, aside, approve, onProblem = noteProblem } = options;
  const load = target.kind === 'new' ? loadOptions(flags) : loadOptions(flags, target.from.cwd);
  return openRuntime({
    ...load,
    overrides: flags.env,
    store,
    model: flags.model,
    limits: {
      steps: flags['max-steps'],
      tokens: flags['max-tokens'],
      cost: flags['max-cost'],
      time: flags.timeout,
      spawns: flags['max-spawns'],
      depth: flags['max-depth'],
    },
    limitsSetBy: FLAGS,
    maxConcurrent: flags['max-running'],
    allow: flags.allow,
    yes: flags.yes,
    approve: approve ?? (aside && canAsk() ? approver(aside) : undefined),
    onProblem,
  });
}

/** Runs `work` with such a runtime, and closes it however that ends: what it has open keeps the process alive. */
export async function withRun<T>(
  flags: FlagValues<typeof turnFlags>,
  options: OpenRunOptions,
  work: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const runtime = await openRun(flags, options);
  try {
    return await work(runtime);
  } finally {
    await runtime.close();
  }
}
