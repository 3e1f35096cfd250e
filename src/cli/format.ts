import type { LimitHit } from '../core/limits.ts';
import { oneLine } from '../core/text.ts';
import type { SessionSummary } from '../store/contract.ts';
import { clipWidth, printable } from './terminal.ts';

/** `850`, `1.2k`, `34k`, `1.5M`. */
export function shortCount(count: number): string {
  if (count < 1000) return String(count);
  const [value, unit] = count < 999_500 ? [count / 1000, 'k'] : [count / 1_000_000, 'M'];
  return `${value < 10 ? value.toFixed(1).replace(/\.0$/, '') : Math.round(value)}${unit}`;
}

/** `12,345`, the same on every machine. */
export const fullCount = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${fullCount(count)} ${count === 1 ? one : many}`;

/** `0.4s`, `12s`, `3m05s`, `2h10m`. */
export function shortTime(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)}s`;
  if (seconds < 60) return `${Math.floor(seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${String(Math.floor(seconds % 60)).padStart(2, '0')}s`;
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, '0')}m`;
}

/** How long ago, for listings: `now`, `5m ago`, `3h ago`, `4d ago`, then the day. */
export function ago(iso: string, now = Date.now()): string {
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes}m ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)}h ago`;
  if (minutes < 14 * 24 * 60) return `${Math.floor(minutes / 1440)}d ago`;
  return iso.slice(0, 10);
}

/** In the currency of the price table, which nobody names. */
export const costText = (cost: number): string =>
  `cost ${cost < 0.01 ? cost.toPrecision(2) : cost.toFixed(cost < 1 ? 3 : 2)}`;

/** A limit that was reached, as JSON output has it; null without one. */
export const limitJson = (hit: LimitHit | undefined): Record<string, unknown> | null =>
  hit ? { which: hit.which, limit: hit.limit, set_by: hit.setBy } : null;

/** What a summary's status means to people: an open turn runs or was cut. */
export function statusOf({ status, holder }: Pick<SessionSummary, 'status' | 'holder'>): string {
  if (status !== 'open') return status.replace('_', ' ');
  return holder === undefined ? 'interrupted' : 'running';
}

/** What says most about a call: its path, command, pattern, name; else nothing. */
const TELLING = ['command', 'path', 'pattern', 'url', 'name', 'skill_name', 'query'] as const;

/** Columns of a tool call on one line. */
const CALL_WIDTH = 60;

/** A tool call on one line: `grep "retry"`. */
export function callText(name: string, args: string): string {
  const subject = subjectOf(args);
  return printable(clipWidth(oneLine(subject === undefined ? name : `${name} ${subject}`), CALL_WIDTH));
}

function subjectOf(args: string): string | undefined {
  const parsed = parseObject(args);
  for (const key of TELLING) {
    const value = parsed?.[key];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
}

/** The arguments of a call when they are a JSON object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
