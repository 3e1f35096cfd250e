import type { StoredEvent } from '../../core/events.ts';
import { clipWidth, type Paint, printableLine } from '../terminal.ts';

/** Every event of a log: its number, the time of day, its type, and the rest of it as JSON. */
export function logLines(
  events: readonly StoredEvent[],
  { columns, paint }: { columns: number | undefined; paint: Paint },
): string[] {
  const widest = Math.max(0, ...events.map(({ type }) => type.length));
  const digits = String(events.at(-1)?.seq ?? 0).length;
  return events.map(({ seq, at, type, ...rest }) => {
    const head = `${String(seq).padStart(digits)}  ${at.slice(11, 23)}  ${type.padEnd(widest)}`;
    const detail = printableLine(JSON.stringify(rest));
    const room = columns === undefined ? detail : clipWidth(detail, Math.max(0, columns - head.length - 2));
    return `${paint('dim', head)}  ${room}`.trimEnd();
  });
}
