import type { z } from 'zod';
import { messageOf, ReasonixError } from '../core/errors.ts';
import { eventSchema, type SessionEvent, type StoredEvent } from '../core/events.ts';
import { isJson } from '../core/text.ts';
import type { ReadOptions } from './contract.ts';
import { compileCheck } from './shape.ts';

/** An event as it is written: its type beside its JSON, which carries neither `seq` nor `at`. */
export interface EncodedEvent {
  type: SessionEvent['type'];
  data: string;
  /** The event as a reader will get it: what is not JSON is gone. */
  event: SessionEvent;
}

/** An event as it is read: its number, and its JSON with `seq` and `at` put in front. */
export interface EventRow {
  seq: number;
  json: string;
}

const isKnownType = (type: string): boolean =>
  eventSchema.options.some((option) => option.shape.type.values.values().next().value === type);

let isExactEvent: ReturnType<typeof compileCheck> | undefined;

/** @throws ReasonixError `session_invalid` when one of the events does not validate. */
export function encodeEvents(session: string, expectedSeq: number, events: readonly SessionEvent[]): EncodedEvent[] {
  if (!Number.isInteger(expectedSeq) || expectedSeq < 0) {
    throw new ReasonixError('usage', `expectedSeq must be a count of events, got ${expectedSeq}`);
  }
  const first = events[0];
  if (expectedSeq === 0 && first && (first.type !== 'session.started' || first.session !== session)) {
    throw new ReasonixError('session_invalid', `session ${session} must begin with its own session.started event`);
  }
  return events.map((event, index) => {
    isExactEvent ??= compileCheck(eventSchema, true);
    // What zod would neither refuse nor change needs no copy that it makes.
    const parsed = isExactEvent(event) ? { success: true as const, data: event } : eventSchema.safeParse(event);
    if (!parsed.success) throw unwritable(session, expectedSeq + index + 1, event, describeIssues(parsed.error));
    try {
      const data = JSON.stringify(parsed.data);
      return { type: parsed.data.type, data, event: JSON.parse(data) as SessionEvent };
    } catch (error) {
      throw unwritable(session, expectedSeq + index + 1, event, messageOf(error));
    }
  });
}

function unwritable(session: string, seq: number, event: SessionEvent, why: string): ReasonixError {
  const type = String((event as { type?: unknown } | null)?.type);
  return new ReasonixError(
    'session_invalid',
    `event ${seq} (${type}) of session ${session} cannot be written: ${why}`,
    {
      details: { session, seq, type },
    },
  );
}

let isEvent: ReturnType<typeof compileCheck> | undefined;

/** The event of a row, or the reason why it is none. */
export function decodeEvent(row: EventRow): StoredEvent | string {
  let value: unknown;
  try {
    value = JSON.parse(row.json);
  } catch (error) {
    return `is no JSON object (${messageOf(error)})`;
  }
  isEvent ??= compileCheck(eventSchema);
  if (isEvent(value)) {
    const event = value as StoredEvent;
    if (event.seq !== row.seq) event.seq = row.seq;
    return event;
  }
  const { type } = value as { type?: unknown };
  if (typeof type === 'string' && !isKnownType(type)) {
    return `has the type ${JSON.stringify(type)}, which this version does not know`;
  }
  const { error } = eventSchema.safeParse(value);
  return `does not validate: ${error ? describeIssues(error) : 'its shape is wrong'}`;
}

export function stored(event: SessionEvent, seq: number, at: string): StoredEvent {
  const result: StoredEvent = { seq, at, ...event };
  result.seq = seq;
  result.at = at;
  return result;
}

/** Collects what could not be read of one session and says it in few lines. */
export class ReadReport {
  readonly session: string;
  readonly #lines: string[] = [];
  #damage: string | undefined;
  #more = 0;

  constructor(session: string) {
    this.session = session;
  }

  event(seq: number, why: string): void {
    this.#add(`event ${seq} of session ${this.session} ${why}; it was left out`);
  }

  /** Events `from` to `to` are not there. */
  gap(from: number, to: number): void {
    const which = from === to ? `event ${from}` : `events ${from} to ${to}`;
    this.#add(`${which} of session ${this.session} ${from === to ? 'is' : 'are'} missing from the log`);
  }

  /** Said once, however many reads meet it. */
  damage(path: string): void {
    this.#damage = `a part of ${path} is damaged; what is left of session ${this.session} was read`;
  }

  send(onProblem: (text: string) => void): void {
    if (this.#damage !== undefined) onProblem(this.#damage);
    for (const line of this.#lines) onProblem(line);
    if (this.#more > 0) onProblem(`${this.#more} more events of session ${this.session} could not be read`);
  }

  #add(line: string): void {
    if (this.#lines.length < 10) this.#lines.push(line);
    else this.#more++;
  }
}

/**
 * Appends the readable events of `rows`, which follow `fromSeq`, to `events`; the rest is reported.
 * @throws ReasonixError `session_newer` with `whole`, when an event is one of another version.
 */
export function decodeRows(
  rows: readonly EventRow[],
  fromSeq: number,
  events: StoredEvent[],
  report: ReadReport,
  { whole = false }: ReadOptions = {},
): void {
  let previous = fromSeq;
  for (const row of rows) {
    if (row.seq > previous + 1) report.gap(previous + 1, row.seq - 1);
    previous = row.seq;
    const event = decodeEvent(row);
    if (typeof event !== 'string') events.push(event);
    // Damage is no JSON any more; what is, somebody else wrote so.
    else if (whole && isJson(row.json)) throw ofAnotherVersion(report.session, row.seq, event);
    else report.event(row.seq, event);
  }
}

function ofAnotherVersion(session: string, seq: number, why: string): ReasonixError {
  return new ReasonixError('session_newer', `event ${seq} of session ${session} ${why}: it is not gone on with here`, {
    hint: 'a newer version of Reasonix wrote it, and can go on with it: update this one',
    details: { session, seq },
  });
}

function describeIssues(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map((issue) => `${issue.path.length > 0 ? `${issue.path.join('.')}: ` : ''}${issue.message}`)
    .join('; ');
}
