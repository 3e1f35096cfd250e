import { existsSync } from 'node:fs';
import { ReasonixError } from '../../core/errors.ts';
import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import { worktreeFolder } from '../../subagents/own-folders.ts';
import { removeFolders } from '../../subagents/worktree/remove.ts';
import { plural } from '../format.ts';
import { note } from '../output.ts';
import { canAsk, readLine } from '../run/approve.ts';
import { printableLine } from '../terminal.ts';

/** Sessions that a question names; the others are counted. */
const MOST_NAMED = 50;

/** Asks before sessions are removed. @throws ReasonixError `usage` where nobody can be asked. */
export async function isConfirmed(sessions: readonly SessionSummary[], reasonixHome: string): Promise<boolean> {
  const count = plural(sessions.length, 'session');
  if (!canAsk()) {
    throw new ReasonixError('usage', `removing ${count} needs a yes, and nobody can be asked here`, {
      hint: 'add --yes',
    });
  }
  for (const { session, skill, title } of sessions.slice(0, MOST_NAMED)) {
    const hasChanges = existsSync(worktreeFolder(reasonixHome, session));
    const kept = hasChanges ? '  (its worktree has changes that were not applied)' : '';
    note(`${session}  ${printableLine(skill === undefined ? title : `${skill}: ${title}`)}${kept}`);
  }
  if (sessions.length > MOST_NAMED) note(`and ${sessions.length - MOST_NAMED} more`);
  const answer = await readLine(`Remove ${count}? [y]es, [n]o: `);
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}

/** Removes sessions, parents before their children in `sessions`, with their folders. */
export async function removeSessions(
  store: SessionStore,
  sessions: readonly string[],
  reasonixHome: string,
): Promise<string[]> {
  // Children first: what is left after an interruption is still a tree.
  const removed = [...sessions].reverse();
  for (const session of removed) {
    await store.delete(session);
    await removeFolders(reasonixHome, session);
  }
  return removed;
}
