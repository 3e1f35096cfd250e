import type { SessionEvent } from '../core/events.ts';
import type { Tool } from '../tools/define-tool.ts';
import type { SessionPlan } from './host.ts';
import type { Middleware, SessionSetup } from './middleware.ts';
import type { Thread } from './thread.ts';

export interface PreparedSession {
  tools: readonly Tool[];
  sections: readonly string[];
  events: readonly SessionEvent[];
}

/** Lets every middleware add its tools and sections, in the order of the chain. */
export async function prepare(
  chain: readonly Middleware[],
  plan: Pick<SessionPlan, 'info' | 'system' | 'tools' | 'narrow' | 'isNamed' | 'signal'>,
  thread: Thread,
  isNew: boolean,
): Promise<PreparedSession> {
  const tools = new Map(plan.tools.map((tool) => [tool.name, tool]));
  const sections = plan.system === '' ? [] : [plan.system];
  const events: SessionEvent[] = [];
  const setup: SessionSetup = {
    ...plan.info,
    isNew,
    signal: plan.signal,
    thread,
    get tools() {
      return [...tools.values()];
    },
    events,
    isAllowed: (name) => (plan.narrow?.([name]) ?? [name]).includes(name),
    isNamed: (name) => plan.isNamed?.(name) ?? false,
    addTool: (tool) => void tools.set(tool.name, tool),
    addSection: (text) => void sections.push(text),
    addEvent: (event) => void events.push(event),
  };
  for (const middleware of chain) await middleware.prepareSession?.(setup);
  return { tools: [...tools.values()], sections, events };
}
