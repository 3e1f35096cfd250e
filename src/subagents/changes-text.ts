import { prompt } from '../core/prompts.ts';
import { byteLength, clipStart } from '../core/text.ts';
import type { Applied, Changes } from './isolation.ts';

/** Longest part of a diff that a parent is sent, in characters. */
const LONGEST_DIFF = 8_000;

/** What a parent is told of the changes of a child with a worktree. `hasTool`: it can take them over itself. */
export function changesText(changes: Changes, hasTool: boolean): string {
  const { reference, files, stat, diff, bytes, problem, inner = [] } = changes;
  if (problem !== undefined) return prompt('worktree-unknown', { why: problem });
  const kept = inner.length > 0 ? prompt('worktree-inner', { names: inner.join(', ') }) : '';
  if (files === 0) return kept || prompt('worktree-unchanged');
  const how = hasTool ? prompt('worktree-how', { reference }) : prompt('worktree-how-person', { reference });
  const text = prompt('worktree-changes', { stat, how, diff: clippedDiff(diff, bytes, reference) });
  return kept ? `${kept}\n\n${text}` : text;
}

/** Cut at the end of a line. */
function clippedDiff(diff: string, bytes: number, reference: string): string {
  if (diff.length <= LONGEST_DIFF) return diff.trimEnd();
  const start = clipStart(diff, LONGEST_DIFF);
  const shown = start.slice(0, start.lastIndexOf('\n') + 1) || start;
  return `${shown.trimEnd()}\n${prompt('worktree-clipped', { shown: byteLength(shown), bytes, reference })}`;
}

/** What `apply_diff` and `session apply` say when it worked. */
export function appliedText({ reference, how, isNew, at = '', folder, stat }: Applied): string {
  if (how === 'unchanged') return prompt('worktree-nothing', { reference });
  if (!isNew) return prompt('worktree-closed', { reference, how, at });
  return how === 'applied'
    ? prompt('worktree-applied', { reference, folder, stat })
    : prompt('worktree-discarded', { reference });
}
