import { prompt } from '../core/prompts.ts';
import { clipGraphemes } from '../core/text.ts';
import { totalTokens } from '../core/usage.ts';
import { Thread } from '../session/thread.ts';
import type { SessionStore, SessionSummary } from '../store/contract.ts';
import { statusText } from './result-text.ts';

/** Most children that one answer names, newest first. */
const LIMIT = 50;

/** A line for each child of a session, for a model that wants to continue one. */
export async function listChildren(store: SessionStore, session: string): Promise<string> {
  const lines = await childLines(store, session, LIMIT);
  return lines.length === 0 ? prompt('no-subagents') : lines.join('\n');
}

/**
 * Reference, skill, state, figures, age and task of a session's children, newest first; when there are
 * more, a line says so. One that is still at work is not left out for newer ones that have ended.
 */
export async function childLines(store: SessionStore, session: string, limit: number): Promise<string[]> {
  const parent = { session };
  const { sessions: newest, next } = await store.list({ parent }, { limit });
  const { sessions: open } = next ? await store.list({ parent, open: true }, { limit }) : { sessions: [] };
  const older = open.filter((child) => !newest.some((each) => each.session === child.session));
  let excess = newest.length + older.length - limit;
  const kept = newest.toReversed().filter(({ status }) => status === 'open' || excess-- <= 0);
  const sessions = [...kept.reverse(), ...older].slice(0, limit);
  const lines = await Promise.all(sessions.map((child) => childLine(store, child)));
  return next ? [...lines, prompt('more-subagents', { limit })] : lines;
}

async function childLine(store: SessionStore, child: SessionSummary): Promise<string> {
  const { session, skill = '', status, title, holder, updatedAt } = child;
  const thread = Thread.fold(session, await store.read(session));
  const cut = thread.turn?.terms ? 'waiting for a worker' : 'interrupted';
  const open = holder === undefined ? cut : 'running';
  const ended = thread.lastTurn ? statusText(thread.lastTurn) : status;
  const parts = [
    session,
    skill,
    status === 'open' ? open : status === 'idle' ? 'waiting to start' : ended,
    `${thread.steps} ${thread.steps === 1 ? 'step' : 'steps'}`,
    `${totalTokens(thread.usage)} tokens`,
    ageText(updatedAt),
    clipGraphemes(title, 100),
  ];
  return parts.join(' · ');
}

/** How long ago it did something last. */
function ageText(iso: string): string {
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(iso)) / 1000));
  if (seconds < 60) return `${seconds}s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ago`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)}h ago` : `${Math.floor(seconds / 86_400)}d ago`;
}
