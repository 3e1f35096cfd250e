import type { StoredEvent } from '../../core/events.ts';
import type { RunResult, SubagentReport } from '../../runtime/run-report.ts';
import type { Observation } from '../../session/host.ts';
import { limitJson } from '../format.ts';
import { jsonLine, note } from '../output.ts';

/** What a run shows of itself. Observations begin before its session exists. */
export interface RunView {
  observe(observation: Observation): void;
  /** The session is open; `first` is its first event, when it was written by an earlier run. */
  opened(session: string, first: StoredEvent | undefined): void;
  /** Something odd that stops nothing. */
  problem(text: string): void;
  /** A word to whoever sits there. */
  say(text: string): void;
  /** Makes room for a question to the user, and shows itself again afterwards. */
  aside<T>(question: () => Promise<T>): Promise<T>;
  ended(result: RunResult): void;
  /** Takes away what is drawn; called last, whatever happened. */
  close(): void;
}

/** The result of a run as `--output json` prints it. */
export function resultJson(result: RunResult): Record<string, unknown> {
  const { session, status, answer, output, steps, usage, cost, subagents, required, limit, error } = result;
  return {
    session,
    status,
    answer,
    ...(output === undefined ? {} : { output }),
    steps,
    usage,
    cost: cost ?? null,
    subagents: subagents.map(subagentJson),
    required,
    limit: limitJson(limit),
    error: error ?? null,
  };
}

const subagentJson = ({ ref, parent, depth, skill, status, steps, usage, cost, limit, reason }: SubagentReport) => ({
  ref,
  parent,
  depth,
  skill,
  status,
  steps,
  usage,
  cost: cost ?? null,
  limit: limitJson(limit),
  reason: reason ?? null,
});

/** One object at the end, on one line. */
export function jsonView(problem: (text: string) => void): RunView {
  return {
    observe: () => {},
    opened: () => {},
    problem,
    say: note,
    aside: (question) => question(),
    ended: (result) => void process.stdout.write(jsonLine(resultJson(result))),
    close: () => {},
  };
}

/** Every event of the log, a line each, written out as it happens. */
export function streamView(problem: (text: string) => void): RunView {
  const write = (session: string, event: StoredEvent) => void process.stdout.write(jsonLine({ session, ...event }));
  return {
    observe: (observation) => {
      if (observation.kind === 'event') write(observation.session, observation.event);
    },
    opened: (session, first) => {
      if (first) write(session, first);
    },
    problem,
    say: note,
    aside: (question) => question(),
    ended: () => {},
    close: () => {},
  };
}
