import type { Job, Outcome, Run, RunControl } from '../../src/engines/engine.ts';

/** What a run does when it is its turn; without one it ends at once. */
export type Script = (job: Job, control: RunControl, count: number) => Promise<Outcome | undefined>;

/** Runs sessions by a script, and remembers what happened. */
export class Recorder {
  /** Sessions in the order in which their runs began. */
  readonly begun: string[] = [];
  /** Sessions of which two runs went on at once. */
  readonly doubled = new Set<string>();
  /** The most runs that went on at once. */
  most = 0;
  readonly #going = new Map<string, number>();
  readonly #script: Script;

  constructor(script: Script = async () => 'ended') {
    this.#script = script;
  }

  runsOf(session: string): number {
    return this.begun.filter((name) => name === session).length;
  }

  readonly run: Run = async (job, control) => {
    const { session } = job;
    const going = (this.#going.get(session) ?? 0) + 1;
    this.#going.set(session, going);
    this.begun.push(session);
    if (going > 1) this.doubled.add(session);
    const all = [...this.#going.values()].reduce((sum, count) => sum + count, 0);
    this.most = Math.max(this.most, all);
    try {
      return (await this.#script(job, control, this.runsOf(session))) ?? 'ended';
    } finally {
      const left = (this.#going.get(session) ?? 1) - 1;
      if (left > 0) this.#going.set(session, left);
      else this.#going.delete(session);
    }
  };
}

/** A promise and its end from outside. */
export class Gate {
  readonly passed: Promise<void>;
  open: () => void = () => {};

  constructor() {
    this.passed = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}
