import type { Job } from './engine.ts';

/** Jobs that wait for their run, one a session, given out in turn among roots. */
export class FairQueue {
  readonly #roots = new Map<string, Map<string, Job>>();
  readonly #rootOf = new Map<string, string>();

  has(session: string): boolean {
    return this.#rootOf.has(session);
  }

  get size(): number {
    return this.#rootOf.size;
  }

  /** Whether a job waits that `fits`. */
  holds(fits: (job: Job) => boolean): boolean {
    return [...this.#roots.values()].some((jobs) => [...jobs.values()].some(fits));
  }

  add(job: Job): void {
    if (this.has(job.session)) return;
    const jobs = this.#roots.get(job.root) ?? new Map<string, Job>();
    jobs.set(job.session, job);
    this.#roots.set(job.root, jobs);
    this.#rootOf.set(job.session, job.root);
  }

  /** Takes the oldest job that `fits` of the root whose turn it is; that root comes last from now on. */
  take(fits: (job: Job) => boolean): Job | undefined {
    for (const [root, jobs] of this.#roots) {
      for (const job of jobs.values()) {
        if (!fits(job)) continue;
        jobs.delete(job.session);
        this.#rootOf.delete(job.session);
        this.#roots.delete(root);
        if (jobs.size > 0) this.#roots.set(root, jobs);
        return job;
      }
    }
    return undefined;
  }
}
