import { ReasonixError } from '../core/errors.ts';
import type { EventOf } from '../core/events.ts';
import type { Tool } from '../tools/define-tool.ts';
import type { SessionHost, SessionPlan } from './host.ts';
import type { SessionInfo } from './middleware.ts';
import type { Thread } from './thread.ts';

/** The first event of a session's log; `system` and `tools` are frozen with it. */
export function startedEvent(plan: SessionPlan, system: string, tools: readonly Tool[]): EventOf<'session.started'> {
  const { info, model, budget, parent, permissions, outputSchema, forkedFrom } = plan;
  return {
    type: 'session.started',
    session: info.session,
    kind: info.kind,
    root: info.root,
    parent,
    skill: info.skill,
    library: info.library,
    tag: info.tag,
    forkedFrom,
    system,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    model,
    budget,
    depth: info.depth,
    cwd: info.cwd,
    outputSchema,
    permissions,
    required: info.required.length > 0 ? [...info.required] : undefined,
  };
}

/** The event that began a session. @throws ReasonixError `session_not_found` when the log is empty. */
export function startOf({ session, started }: Pick<Thread, 'session' | 'started'>): EventOf<'session.started'> {
  if (started) return started;
  throw new ReasonixError('session_not_found', `there is no session ${session}`, {
    hint: 'list them with: reasonix session list',
  });
}

/** What middleware is told of a session, from the event that began it. `inherit` counts only where the system prompt is made. */
export function infoOf(started: EventOf<'session.started'>, { place }: Pick<SessionHost, 'place'>): SessionInfo {
  return {
    session: started.session,
    kind: started.kind,
    root: started.root,
    depth: started.depth,
    cwd: place?.(started) ?? started.cwd,
    library: started.library,
    tag: started.tag,
    skill: started.skill,
    required: started.required ?? [],
    inherit: [],
  };
}
