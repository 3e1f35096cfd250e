import type { SessionHandle } from '../../runtime/session-handle.ts';
import type { SessionRun } from '../../runtime/session-run.ts';
import type { Task } from './task.ts';

/** Begins the turn that a task asks for; without one, the turn that was cut goes on. */
export function startTask(handle: SessionHandle, task: Task, signal: AbortSignal): SessionRun {
  switch (task.kind) {
    case 'message':
      return handle.send(task.text, { signal });
    case 'skill':
      return handle.runSkill({ name: task.name, arguments: task.arguments || undefined }, { signal });
    case 'none':
      return handle.resume({ signal });
  }
}
