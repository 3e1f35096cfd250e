import type { StoredEvent } from '../../core/events.ts';
import { totalTokens } from '../../core/usage.ts';
import { NOBODY_TO_ASK } from '../../middleware/permissions.ts';
import type { RunResult } from '../../runtime/run-report.ts';
import type { Observation } from '../../session/host.ts';
import { costText, fullCount, plural, shortTime } from '../format.ts';
import { note } from '../output.ts';
import { paintFor, printable, printableLine } from '../terminal.ts';
import { ActivityTree, type Identify } from './activity.ts';
import { LiveTree } from './live-tree.ts';
import { progressLine } from './plain-progress.ts';
import type { RunView } from './view.ts';

export interface TextViewOptions {
  identify: Identify;
  /** Steps that the turn may take. */
  maxSteps?: number | undefined;
  /** One of many turns: nothing about the session and how to go on with it. */
  inChat?: boolean | undefined;
}

/**
 * For people: on a terminal the text of the model as it comes, with the tree of sub-agents below; in a
 * pipe the answer alone, since nothing that was written can be taken back.
 */
export class TextView implements RunView {
  readonly #options: TextViewOptions;
  #tree: ActivityTree | undefined;
  #live: LiveTree | undefined;
  readonly #paint = paintFor(process.stderr);
  readonly #streams = process.stdout.isTTY === true;
  readonly #startedAt = Date.now();
  /** Text of a message on stdout whose end has not come. */
  #inText = false;
  /** The newest whole message: the answer, unless another one follows. */
  #newest = '';
  /** Writes that were refused because nobody could be asked. */
  #unasked = 0;

  constructor(options: TextViewOptions) {
    this.#options = options;
  }

  /** What comes before the session is open is its making, or the history that a copy starts with. */
  observe(observation: Observation): void {
    if (!this.#tree) return;
    this.#tree.observe(observation);
    if (isUnasked(observation)) this.#unasked++;
    if (observation.session === this.#tree.root.session) this.#ofRoot(observation);
    const line = this.#live && !isTroubling(observation) ? undefined : progressLine(observation, this.#tree);
    if (line !== undefined) this.#say(this.#paint('dim', line));
  }

  opened(session: string, _first: StoredEvent | undefined): void {
    this.#tree = new ActivityTree({
      root: session,
      identify: this.#options.identify,
      maxSteps: this.#options.maxSteps,
    });
    if (!this.#options.inChat) this.#say(this.#paint('dim', `session ${session}`));
    this.#live = process.stderr.isTTY ? new LiveTree(this.#tree, process.stderr) : undefined;
    this.#live?.start();
  }

  problem(text: string): void {
    this.#say(`${this.#paint('yellow', 'warning:')} ${printable(text)}`);
  }

  say(text: string): void {
    this.#say(this.#paint('dim', text));
  }

  async aside<T>(question: () => Promise<T>): Promise<T> {
    this.#endLine();
    this.#live?.stop();
    try {
      return await question();
    } finally {
      this.#live?.start();
    }
  }

  ended(result: RunResult): void {
    this.#endLine();
    this.#live?.finish();
    const isShown = this.#streams && this.#newest.trim() === result.answer.trim();
    if (!isShown && result.answer !== '') {
      const text = this.#streams ? printable(result.answer) : result.answer;
      process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
    }
    this.#farewell(result);
  }

  close(): void {
    this.#endLine();
    this.#live?.stop();
  }

  #ofRoot(observation: Observation): void {
    if (observation.kind === 'delta' && observation.delta.type === 'text' && this.#streams) {
      this.#live?.stop();
      process.stdout.write(printable(observation.delta.text));
      this.#inText = true;
    }
    if (startsAgain(observation)) this.#endLine();
    if (observation.kind !== 'event') return;
    const { event } = observation;
    if (event.type === 'assistant.message') {
      this.#endLine();
      this.#notTheAnswer();
      this.#newest = event.text;
      if (event.toolCalls.length > 0) this.#notTheAnswer();
      this.#live?.start();
    } else if (event.type === 'user.message') this.#notTheAnswer();
  }

  /** What was said on the way belongs on stderr; a terminal has it already. */
  #notTheAnswer(): void {
    const text = this.#newest.trim();
    if (text !== '' && !this.#streams) this.#say(this.#paint('dim', printable(text)));
    this.#newest = '';
  }

  #endLine(): void {
    if (this.#inText) process.stdout.write('\n');
    this.#inText = false;
  }

  #say(text: string): void {
    this.#endLine();
    if (this.#live) this.#live.above(text);
    else note(text);
  }

  #farewell(result: RunResult): void {
    const { status, steps, subagents, usage, cost, session, error, required } = result;
    const mark =
      status === 'completed' ? this.#paint('green', 'completed') : this.#paint('yellow', status.replace('_', ' '));
    const facts = [
      plural(steps, 'step'),
      ...(subagents.length > 0 ? [plural(subagents.length, 'sub-agent')] : []),
      `${fullCount(totalTokens(usage.total))} tokens`,
      ...(cost !== undefined && cost > 0 ? [costText(cost)] : []),
      shortTime(Date.now() - this.#startedAt),
    ];
    note(`${mark} · ${facts.join(' · ')}`);
    if (error !== undefined) note(`  ${printableLine(error)}`);
    if (required.injected.length > 0)
      note(`  required skills given unasked: ${printableLine(required.injected.join(', '))}`);
    if (this.#unasked > 0) {
      const refused = plural(this.#unasked, 'write was', 'writes were');
      note(`  ${refused} refused, since nobody could be asked: --allow RULE lets some run, --yes all`);
    }
    if (!this.#options.inChat) note(this.#paint('dim', `go on with: reasonix run --resume ${session} "…"`));
  }
}

/** What was shown of an answer no longer counts. */
const startsAgain = (observation: Observation): boolean =>
  observation.kind === 'delta' && (observation.delta.type === 'retry' || observation.delta.type === 'fallback');

/** Worth a line that stays, also below a live tree. */
function isTroubling(observation: Observation): boolean {
  if (observation.kind === 'delta') return startsAgain(observation);
  return observation.kind === 'event' && observation.event.type === 'required.nudged';
}

function isUnasked(observation: Observation): boolean {
  if (observation.kind !== 'event' || observation.event.type !== 'tool.result') return false;
  return observation.event.isError && observation.event.content.includes(NOBODY_TO_ASK);
}
