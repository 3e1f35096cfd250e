import { setTimeout as delay } from 'node:timers/promises';
import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import { EXIT } from '../failure.ts';
import { dataColumns, jsonLine, note, print } from '../output.ts';
import { stateOf } from '../run/activity.ts';
import { LiveTree } from '../run/live-tree.ts';
import { progressLine } from '../run/plain-progress.ts';
import { paintFor, printableLine } from '../terminal.ts';
import { topName, treeText } from './tree.ts';
import { type Seen, SessionWatch } from './watch.ts';

/** Milliseconds between two looks into the store: other processes write to it. */
const INTERVAL = 200;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** How what happens is shown: drawn over itself, a line an event, or every event as JSON. */
interface Shown {
  /** After the first look. */
  begin(watch: SessionWatch): void;
  seen(seen: Seen, watch: SessionWatch): void;
  /** The turn has ended. */
  finish(watch: SessionWatch): void;
  /** Called last, whatever happened. */
  close(): void;
}

/** Shows a tree of sessions until its turn has ended, or a signal comes. Gives the exit code. */
export async function followTree(
  store: SessionStore,
  top: SessionSummary,
  { json }: { json: boolean },
): Promise<number> {
  const watch = new SessionWatch(store, top);
  const shown = json ? jsonEvents() : process.stdout.isTTY ? drawn(topName(top)) : lines(topName(top));
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    await watch.look((seen) => json && shown.seen(seen, watch));
    shown.begin(watch);
    if (watch.isCut) note(`${cutText(stateOf(watch.tree.root))}; Ctrl-C leaves`);
    while (!watch.isOver) {
      await delay(INTERVAL, undefined, { signal: stopped.signal }).catch(() => {});
      if (stopped.signal.aborted) return EXIT.cancelled;
      await watch.look((seen) => shown.seen(seen, watch));
    }
    shown.finish(watch);
    return EXIT.done;
  } finally {
    shown.close();
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

function drawn(top: string): Shown {
  let live: LiveTree | undefined;
  return {
    begin: ({ tree }) => {
      live = new LiveTree(tree, process.stdout, top);
      live.start();
    },
    seen: () => {},
    finish: (watch) => {
      live?.stop();
      printTree(watch);
    },
    close: () => live?.stop(),
  };
}

function lines(top: string): Shown {
  let isOver = false;
  return {
    begin: (watch) => {
      printTree(watch);
      isOver = watch.isOver;
    },
    seen: ({ session, event }, { tree }) => {
      const line = progressLine({ kind: 'event', session, event }, tree, printableLine(top));
      if (line !== undefined) print(line);
    },
    finish: (watch) => {
      if (!isOver) printTree(watch);
    },
    close: () => {},
  };
}

const cutText = (state: string): string =>
  state === 'parked'
    ? 'its turn waits for sub-agents'
    : state === 'queued'
      ? 'its turn waits for a worker'
      : 'its turn was cut, and nobody goes on with it yet';

const jsonEvents = (): Shown => ({
  begin: () => {},
  seen: ({ session, event }) => void process.stdout.write(jsonLine({ session, ...event })),
  finish: () => {},
  close: () => {},
});

function printTree(watch: SessionWatch): void {
  for (const line of treeText(watch, { columns: dataColumns(), paint: paintFor(process.stdout) })) print(line);
}
