import { existsSync } from 'node:fs';
import type { RunResult } from '../../runtime/run-report.ts';
import { worktreeFolder } from '../../subagents/own-folders.ts';
import { note } from '../output.ts';

/** Says which sub-agents of a run have changes in a worktree that nobody took over or dropped. */
export function notePendingChanges({ subagents }: RunResult, reasonixHome: string): void {
  const pending = subagents.filter(({ ref }) => existsSync(worktreeFolder(reasonixHome, ref)));
  for (const { ref, skill } of pending) {
    note(`${skill} has changed files in a worktree of its own; take them over with: reasonix session apply ${ref}`);
  }
}
