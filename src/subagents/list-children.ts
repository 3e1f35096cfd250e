import { prompt } from '../core/prompts.ts';
import { clipGraphemes } from '../core/text.ts';
import type { SessionStore } from '../store/contract.ts';

/** Most children that one answer names, newest first. */
const LIMIT = 50;

/** A line for each child of a session, for a model that wants to continue one. */
export async function listChildren(store: SessionStore, session: string): Promise<string> {
  const lines = await childLines(store, session, LIMIT);
  return lines.length === 0 ? prompt('no-subagents') : lines.join('\n');
}

/** Reference, skill, state and task of a session's children, newest first; when there are more, a line says so. */
export async function childLines(store: SessionStore, session: string, limit: number): Promise<string[]> {
  const { sessions, next } = await store.list({ parent: { session } }, { limit });
  const lines = sessions.map(({ session: reference, skill, status, title, holder }) => {
    const state = status === 'open' ? (holder ? 'running' : 'interrupted') : status;
    return `${reference} · ${skill ?? ''} · ${state} · ${clipGraphemes(title, 100)}`;
  });
  return next ? [...lines, prompt('more-subagents', { limit })] : lines;
}
