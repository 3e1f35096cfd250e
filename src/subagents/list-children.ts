import { prompt } from '../core/prompts.ts';
import { clipGraphemes } from '../core/text.ts';
import type { SessionStore } from '../store/contract.ts';

/** Most children that one answer names, newest first. */
const LIMIT = 50;

/** A line for each child of a session, for a model that wants to continue one. */
export async function listChildren(store: SessionStore, session: string): Promise<string> {
  const { sessions, next } = await store.list({ parent: { session } }, { limit: LIMIT });
  if (sessions.length === 0) return prompt('no-subagents');
  const lines = sessions.map(({ session: reference, skill, status, title, holder }) => {
    const state = status === 'open' ? (holder ? 'running' : 'interrupted') : status;
    return `${reference} · ${skill ?? ''} · ${state} · ${clipGraphemes(title, 100)}`;
  });
  return [...lines, ...(next ? [prompt('more-subagents', { limit: LIMIT })] : [])].join('\n');
}
