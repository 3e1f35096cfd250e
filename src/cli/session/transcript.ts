import type { StoredEvent } from '../../core/events.ts';
import { compactionRow } from './context.ts';
import { compactionText } from './context-lines.ts';

/** A piece of a session as a person reads it. */
export interface Passage {
  kind: 'user' | 'assistant' | 'call' | 'result' | 'error' | 'note';
  title: string;
  text: string;
  at: string;
}

const ORIGIN: Record<string, string> = {
  user: 'user',
  task: 'task',
  continuation: 'continued with',
  nudge: 'nudge by the runtime',
  notice: 'notice by the runtime',
};

/** What is worth reading in a log, in order: messages, calls, results, skills, ends of turns. */
export function transcriptOf(events: readonly StoredEvent[]): Passage[] {
  return events.flatMap(passagesOf);
}

function passagesOf(event: StoredEvent): Passage[] {
  const { at } = event;
  switch (event.type) {
    case 'user.message': {
      const isSent = event.origin === 'notice' && event.from !== undefined;
      const title = isSent ? 'message' : (ORIGIN[event.origin] ?? event.origin);
      return [{ kind: 'user', title, text: event.content, at }];
    }
    case 'assistant.message': {
      const said: Passage[] =
        event.text.trim() === '' ? [] : [{ kind: 'assistant', title: 'assistant', text: event.text, at }];
      if (event.fallbackFrom !== undefined) {
        const title = `${event.model} answered in place of ${event.fallbackFrom}`;
        said.unshift({ kind: 'note', title, text: '', at });
      }
      const calls = event.toolCalls.map(
        (call): Passage => ({ kind: 'call', title: `calls ${call.name}`, text: call.arguments, at }),
      );
      return [...said, ...calls];
    }
    case 'tool.result': {
      const child = event.child === undefined ? '' : ` (${event.child})`;
      const title = event.isError ? `error of ${event.name}${child}` : `result of ${event.name}${child}`;
      return [{ kind: event.isError ? 'error' : 'result', title, text: event.content, at }];
    }
    case 'skill.loaded':
      return [{ kind: 'note', title: `loaded the skill ${event.name} (${event.via})`, text: '', at }];
    case 'skill.switched':
      return [
        { kind: 'note', title: `${event.enabled ? 'enabled' : 'disabled'} the skill ${event.name}`, text: '', at },
      ];
    case 'context.compacted':
      return [{ kind: 'note', title: `compacted: ${compactionText(compactionRow(event))}`, text: '', at }];
    case 'turn.ended': {
      const why = event.reason === undefined ? '' : `: ${event.reason}`;
      return [{ kind: 'note', title: `turn ${event.status.replace('_', ' ')}${why}`, text: '', at }];
    }
    default:
      return [];
  }
}
