import type { EventOf } from '../../core/events.ts';
import { totalTokens } from '../../core/usage.ts';
import type { Observation } from '../../session/host.ts';
import { callText, costText, fullCount, plural, shortTime } from '../format.ts';
import { printableLine } from '../terminal.ts';
import { type Activity, type ActivityTree, elapsed, stateOf } from './activity.ts';

/**
 * The line that an observation is worth where nothing can be redrawn; most are worth none. With `top`,
 * a name for the root, its start and end are worth one, too.
 */
export function progressLine(observation: Observation, tree: ActivityTree, top?: string): string | undefined {
  const activity = tree.get(observation.session);
  if (!activity) return undefined;
  const who = `${'  '.repeat(depthOf(activity))}${activity.parent ? nameOf(activity) : (top ?? 'agent')}`;
  if (observation.kind === 'delta') {
    const { delta } = observation;
    if (delta.type === 'fallback') {
      return `${who}: asking ${printableLine(delta.to)} in place of ${printableLine(delta.from)} (${printableLine(delta.reason)})`;
    }
    return delta.type === 'retry'
      ? `${who}: asking again in ${shortTime(delta.delay)} (${printableLine(delta.reason)})`
      : undefined;
  }
  if (observation.kind === 'progress') return undefined;
  const { event } = observation;
  switch (event.type) {
    case 'session.started':
      return activity === tree.root ? undefined : `${who} started`;
    case 'user.message':
      if (event.origin === 'notice' && event.child) return `${who}: has the result of ${event.child}`;
      if (event.origin === 'notice' && event.from) return `${who}: reads ${printableLine(event.content).slice(0, 200)}`;
      return event.origin === 'continuation' && activity !== tree.root ? `${who} continued` : undefined;
    case 'assistant.message': {
      const calls = event.toolCalls.map(({ name, arguments: args }) => callText(name, args));
      return calls.length > 0 ? `${who}: ${calls.join(', ')}` : undefined;
    }
    case 'tool.result':
      return event.isError ? `${who}: ${event.name} failed: ${whyOf(event, tree)}` : undefined;
    case 'required.nudged':
      return `${who}: asked to load ${printableLine(event.names.join(', '))}`;
    case 'skill.loaded':
      return event.via === 'inject' || event.via === 'force'
        ? `${who}: given the skill ${printableLine(event.name)}`
        : undefined;
    case 'turn.ended':
      return activity === tree.root && top === undefined ? undefined : `${who} ${endOf(activity)}`;
    default:
      return undefined;
  }
}

/** The result of a child begins with what a model needs of it: why it failed is told by the child itself. */
function whyOf({ content, child }: EventOf<'tool.result'>, tree: ActivityTree): string {
  const activity = child === undefined ? undefined : tree.get(child);
  const why = activity ? (activity.reason ?? stateOf(activity)) : content;
  return printableLine(why).slice(0, 200);
}

function endOf(activity: Activity): string {
  const { steps, usage, cost, reason, endedAt = 0 } = activity;
  const figures = [
    plural(steps, 'step'),
    `${fullCount(totalTokens(usage))} tokens`,
    ...(cost ? [costText(cost)] : []),
    shortTime(elapsed(activity, endedAt)),
  ];
  return `${stateOf(activity)}: ${figures.join(', ')}${reason === undefined ? '' : ` (${printableLine(reason)})`}`;
}

const nameOf = ({ skill, session }: Activity): string => `${printableLine(skill)} ${session}`.trim();

function depthOf(activity: Activity): number {
  let depth = 0;
  for (let above = activity.parent; above; above = above.parent) depth++;
  return depth;
}
