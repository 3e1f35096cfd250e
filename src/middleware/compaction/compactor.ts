import type { EventOf, SessionEvent } from '../../core/events.ts';
import { prompt } from '../../core/prompts.ts';
import { noUsage, type Usage } from '../../core/usage.ts';
import type { ResolvedModel } from '../../models/contract.ts';
import type { Compaction } from '../../session/compacted.ts';
import type { Thread } from '../../session/thread.ts';
import { DEFAULT_SHARE, type Goals, goalsFor } from './goals.ts';
import { type Head, headOf, keptSkills, notice } from './head.ts';
import { fitNewest, newestPart, reduction, tokensAfter } from './plan.ts';
import { noticeOf, recordOf, stepLines } from './record.ts';
import { shorten } from './shorten.ts';
import { answerRoom, type Summary, summarise } from './summary.ts';

export interface CompactorOptions {
  /** Share of the window at which a session is compacted by itself; 0: never. Default 0.8. */
  at?: number | undefined;
  /** The model that sums up. Default: the session's own. */
  model?: (() => Promise<ResolvedModel | undefined>) | undefined;
  /** A line for each child of a session, for a model; empty without children. */
  children?: ((session: string) => Promise<string>) | undefined;
}

/** A session to compact, and what that may cost. */
export interface CompactionJob {
  thread: Thread;
  model: ResolvedModel;
  /** Tokens. */
  window: number;
  reason: NonNullable<EventOf<'context.compacted'>['reason']>;
  signal: AbortSignal;
  /** Keeps room in the budget for a model call of about so much use, until what it gives is called; nothing without room. */
  setAside(model: ResolvedModel, usage: Usage): (() => void) | undefined;
  charge(summary: Summary): void;
  progress(text: string): void;
  append(events: readonly SessionEvent[]): Promise<unknown>;
}

/** What a compaction must free to be worth it, as a share of the window. */
const LEAST_GAIN = { window: 0.1, full: 0.02, overflow: 0.02, asked: 0 };

/** From this share of the window on there is no waiting for a larger step. */
const FULL = 0.95;

/** Makes the context of a session smaller. Every change is one event of its log. */
export class Compactor {
  readonly at: number;
  readonly #options: CompactorOptions;

  constructor(options: CompactorOptions = {}) {
    this.at = options.at ?? DEFAULT_SHARE;
    this.#options = options;
  }

  /**
   * Leaves out old results, or, when that is not enough, puts a summary in the place of the old part.
   * `undefined` when there is too little to gain. A summary that fails is replaced by a list of steps.
   */
  async compact(job: CompactionJob): Promise<EventOf<'context.compacted'> | undefined> {
    const { thread, reason, window } = job;
    const before = thread.size.tokens;
    const goals = goalsFor(thread, window, this.at || DEFAULT_SHARE);
    const room = reason === 'asked' ? Math.min(goals.newest, before / 4) : goals.newest;
    const newest = newestPart(thread, room);
    const log = async (compaction: Compaction, kept: EventOf<'context.compacted'>['keptSkills'], summary?: Summary) => {
      const event: EventOf<'context.compacted'> = {
        type: 'context.compacted',
        ...compaction,
        keptSkills: kept,
        reason,
        before,
        after: tokensAfter(thread, compaction),
        ...(summary ? { usage: summary.usage, model: summary.model } : {}),
        ...(summary?.cost === undefined ? {} : { cost: summary.cost }),
      };
      await job.append([event]);
      return event;
    };

    const light = reason === 'asked' ? undefined : reduction(thread, newest, goals);
    if (light) {
      job.progress(`leaving out ${light.reduced?.length ?? 0} results to make room`);
      return log(light, loadedSkills(thread));
    }
    const head = headOf(thread, newest, goals);
    if (!isWorthwhile(job, before, head, goals)) return undefined;
    const { text, summary } = await this.#record(job, head, goals);
    const children = text === '' ? '' : await this.#options.children?.(thread.session);
    const parts = [text, children ? prompt('compacted-children', { lines: children }) : ''].filter(
      (part) => part !== '',
    );
    const messages = [
      ...head.requests,
      ...(parts.length > 0 ? [notice(noticeOf(parts.join('\n\n')))] : []),
      ...(head.pins.length > 0 ? [notice(prompt('compacted-skills', { pins: head.pins.join('\n\n') }))] : []),
    ];
    const compaction = fitNewest(thread, { replaced: head.cut, messages }, goals.most);
    return log(compaction, keptSkills(thread), summary);
  }

  /** What stands for the replaced messages: themselves when they are short, a summary, or their steps. */
  async #record(job: CompactionJob, { replaced }: Head, goals: Goals): Promise<{ text: string; summary?: Summary }> {
    if (replaced.length === 0) return { text: '' };
    const { size } = job.thread;
    const limit = size.charactersOf(goals.summary);
    const whole = recordOf(replaced);
    if (whole.length <= limit) return { text: whole };
    const summary = await this.#summary(job, replaced, goals);
    if (!summary) return { text: stepLines(replaced, limit) };
    const isShorter = summary.text !== '' && summary.text.length < whole.length;
    const text = isShorter ? shorten(summary.text, 2 * limit, () => '[…]') : stepLines(replaced, limit);
    return { text, summary };
  }

  async #summary(job: CompactionJob, replaced: Head['replaced'], goals: Goals): Promise<Summary | undefined> {
    const { thread, signal } = job;
    const model = (await this.#options.model?.()) ?? job.model;
    const window = Math.min(model.contextWindow, goals.window);
    const record = recordOf(replaced, thread.size.charactersOf(window / 2));
    const input = thread.size.tokensOf(record.length);
    const release = job.setAside(model, { ...noUsage(), input, output: answerRoom(window) });
    if (!release) return undefined;
    try {
      job.progress('summing up the older part of the conversation to make room');
      const summary = await summarise({
        model,
        record,
        limit: goals.summary,
        window,
        session: thread.session,
        root: thread.started?.root,
        signal,
      });
      if (summary) job.charge(summary);
      return summary;
    } finally {
      release();
    }
  }
}

function isWorthwhile({ thread, reason, window }: CompactionJob, before: number, head: Head, goals: Goals): boolean {
  const messages = [...head.requests, ...head.pins.map(notice)];
  const compaction = fitNewest(thread, { replaced: head.cut, messages }, goals.most);
  const record = head.replaced.length > 0 ? goals.summary : 0;
  const gain = before - tokensAfter(thread, compaction) - record;
  const isFull = reason === 'window' && before >= FULL * window;
  return gain > 0 && gain >= (isFull ? LEAST_GAIN.full : LEAST_GAIN[reason]) * window;
}

const loadedSkills = (thread: Thread): EventOf<'context.compacted'>['keptSkills'] =>
  [...thread.loadedSkills.values()].map(({ name, hash }) => ({ name, hash }));
