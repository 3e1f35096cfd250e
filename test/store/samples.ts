import type { SessionEvent } from '../../src/core/events.ts';
import { newSessionId } from '../../src/core/ids.ts';

/** Events as a session writes them, for tests of stores. */

const usage = { input: 10, output: 5, cache_read: 3, cache_write: 0, reasoning: 0 };

export function started(
  session: string,
  fields: Partial<Extract<SessionEvent, { type: 'session.started' }>> = {},
): SessionEvent {
  return {
    type: 'session.started',
    session,
    kind: 'root',
    root: session,
    system: 'You are helpful.',
    tools: [{ name: 'read_file', description: 'Reads a file.', parameters: { type: 'object' } }],
    model: { provider: 'test', name: 'test-model' },
    budget: {},
    depth: 0,
    cwd: '/project',
    ...fields,
  };
}

export const user = (content: string): SessionEvent => ({ type: 'user.message', origin: 'user', content });

export const said = (text: string): SessionEvent => ({
  type: 'assistant.message',
  text,
  toolCalls: [],
  usage,
  model: 'test-model',
  finishReason: 'stop',
});

export const ended = (status: 'completed' | 'failed' | 'limit' = 'completed'): SessionEvent => ({
  type: 'turn.ended',
  status,
  answer: 'done',
});

/** A new session id with the event its log begins with. */
export function newLog(fields?: Parameters<typeof started>[1]): { session: string; first: SessionEvent } {
  const session = newSessionId();
  return { session, first: started(session, fields) };
}
