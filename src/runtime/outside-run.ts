import type { EventOf } from '../core/events.ts';
import type { Usage } from '../core/usage.ts';
import { NOBODY_TO_ASK } from '../middleware/permissions.ts';
import type { Observation } from '../session/host.ts';
import type { RunResult } from './run-report.ts';
import type { SessionRun } from './session-run.ts';

/** What a sub-agent did for an agent outside. */
export interface OutsideRun {
  /** Absent where none was started, and for a list of items. */
  ref?: string | undefined;
  /** `limit:steps` for a limit. */
  status: string;
  /** Bounded like every result; `read_result` with `ref` has the rest. */
  answer: string;
  skill: string;
  /** Model calls of the sub-agent itself. */
  steps: number;
  /** Tokens of the call, with everything below. */
  usage: Usage;
  /** Absent when a price is not known. */
  cost?: number | undefined;
  /** The value of an answer that had to fit an `output-schema` and does. */
  output?: unknown;
  /** Why it did not complete. */
  reason?: string | undefined;
  /** Of a list of items. */
  subagents?: { ref: string; status: string; steps: number }[] | undefined;
}

/** What the session logged while it ran. */
export interface Watched {
  result: RunResult;
  /** Of the calls that the host made: one, and before it that of a turn that was cut and is finished now. */
  results: EventOf<'tool.result'>[];
  /** Tools whose writes were refused, in any session, since there was nobody to ask. */
  unasked: Set<string>;
}

/** Waits for the end of a run that was begun by a call. @throws what kept the log from being written. */
export async function watched(run: SessionRun, observe: (observation: Observation) => void): Promise<Watched> {
  const results: EventOf<'tool.result'>[] = [];
  const unasked = new Set<string>();
  for await (const seen of run) {
    observe(seen);
    if (seen.kind !== 'event' || seen.event.type !== 'tool.result') continue;
    if (seen.session === run.session) results.push(seen.event);
    if (seen.event.isError && seen.event.content.includes(NOBODY_TO_ASK)) unasked.add(seen.event.name);
  }
  return { result: await run.result, results, unasked };
}

/** The outcome as data. `shown` bounds an answer. */
export function outsideRun(
  skill: string,
  { result, results }: Watched,
  shown: (answer: string, reference: string) => string,
): OutsideRun {
  const last = results.at(-1);
  const reports = result.subagents.filter(({ parent }) => parent === result.session);
  const report = reports.find(({ ref }) => ref === last?.child);
  const refused = result.limit ? `limit:${result.limit.which}` : result.status;
  const reason = report ? report.reason : result.error;
  return {
    ...(report ? { ref: report.ref } : {}),
    status: report?.status ?? refused,
    answer: report ? shown(result.answer, report.ref) : last?.isError ? '' : (last?.content ?? ''),
    skill,
    steps: report?.steps ?? reports.reduce((sum, { steps }) => sum + steps, 0),
    usage: result.usage.total,
    ...(result.cost === undefined ? {} : { cost: result.cost }),
    ...(result.output === undefined ? {} : { output: result.output }),
    ...(reason === undefined ? {} : { reason }),
    ...(!report && reports.length > 0
      ? { subagents: reports.map(({ ref, status, steps }) => ({ ref, status, steps })) }
      : {}),
  };
}
