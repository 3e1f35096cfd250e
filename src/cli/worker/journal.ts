import { messageOf } from '../../core/errors.ts';
import type { Job } from '../../engines/engine.ts';
import type { RunEnd } from '../../runtime/worker.ts';
import { shortTime } from '../format.ts';
import { note } from '../output.ts';
import { printable, printableLine } from '../terminal.ts';

/** How often the same problem is told, in milliseconds. */
const TOLD_AGAIN = 60_000;

/** What a worker says on stderr, each line with its name in front. */
export class Journal {
  readonly #name: string;
  readonly #tellsRuns: boolean;
  readonly #told = new Map<string, number>();

  constructor(name: string, options: { tellsRuns: boolean }) {
    this.#name = printableLine(name);
    this.#tellsRuns = options.tellsRuns;
  }

  say(text: string): void {
    note(`${this.#name}: ${printable(text)}`);
  }

  /** A problem; the same one, whichever session has it, at most once a minute. */
  problem(text: string): void {
    const kind = text.replace(/[\w-]*\d[\w-]*/g, '#');
    const now = performance.now();
    for (const [other, at] of this.#told) if (now - at >= TOLD_AGAIN) this.#told.delete(other);
    if (this.#told.has(kind)) return;
    this.#told.set(kind, now);
    this.say(`warning: ${text}`);
  }

  took({ session, root }: Job): void {
    if (this.#tellsRuns) this.say(`took ${session}${root === session ? '' : ` of ${root}`}`);
  }

  /** `status` is that of the turn, when one has ended. A failed run was told as a problem. */
  left({ session }: Job, { outcome, error }: RunEnd, status: string | undefined, milliseconds: number): void {
    if (!this.#tellsRuns || outcome === 'failed') return;
    const how = outcome === 'ended' && status !== undefined ? `ended (${status.replace('_', ' ')})` : outcome;
    const why = outcome === 'busy' || outcome === 'unfit' ? `: ${messageOf(error)}` : '';
    this.say(`${how} ${session} after ${shortTime(milliseconds)}${why}`);
  }
}
