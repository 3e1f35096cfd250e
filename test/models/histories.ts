import fc from 'fast-check';
import type { Message } from '../../src/core/messages.ts';

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('', ' ', '\ud800', 'a\udfffb', '🎯', '"}]'),
);

const argumentsText = fc.oneof(
  fc.json({ maxDepth: 1 }),
  text,
  fc.constantFrom('', '{"a":1}', '"{\\"a\\":1}"', '{broken'),
);

const call = fc.record({
  id: fc.string({ maxLength: 6 }),
  name: fc.constantFrom('grep', 'read_file'),
  arguments: argumentsText,
});

const providerState = fc.oneof(
  fc.constant(undefined),
  fc.constant({ wire: 'chat', reasoningField: 'reasoning_content' }),
  fc.constant({ wire: 'scripted', rule: '#1' }),
  fc.record({
    wire: fc.constant('messages'),
    blocks: fc.constant([
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'text' },
      { type: 'tool_use' },
    ]),
  }),
);

/** One step as the engine appends it: an answer, the results of its calls, perhaps a message after it. */
const step = fc
  .record({
    text,
    reasoning: fc.option(text, { nil: undefined }),
    calls: fc.array(call, { maxLength: 3 }),
    results: fc.array(text, { minLength: 3, maxLength: 3 }),
    providerState,
    after: fc.option(text, { nil: undefined }),
  })
  .map(({ text, reasoning, calls, results, providerState, after }): Message[] => [
    { role: 'assistant', text, reasoning, toolCalls: calls, providerState },
    ...calls.map(
      (each, index): Message => ({
        role: 'tool',
        callId: each.id,
        name: each.name,
        content: results[index] ?? '',
        isError: index === 1,
      }),
    ),
    ...(after === undefined && calls.length > 0
      ? []
      : [{ role: 'user', content: after ?? 'go on', origin: 'nudge' } satisfies Message]),
  ]);

/** The steps of a session, each a list of messages; the first is the task. */
export const steps: fc.Arbitrary<Message[][]> = fc
  .tuple(text, fc.array(step, { minLength: 1, maxLength: 6 }))
  .map(([task, rest]) => [[{ role: 'user', content: task, origin: 'task' } satisfies Message], ...rest]);

/** Messages in any order, as a log that something went wrong with might give. */
export const anyMessages: fc.Arbitrary<Message[]> = fc.array(
  fc.oneof(
    text.map((content): Message => ({ role: 'user', content, origin: 'user' })),
    fc
      .record({ text, toolCalls: fc.array(call, { maxLength: 3 }) })
      .map((message): Message => ({ role: 'assistant', ...message })),
    fc
      .record({ callId: fc.string({ maxLength: 6 }), content: text })
      .map((message): Message => ({ role: 'tool', name: 'grep', isError: false, ...message })),
  ),
  { maxLength: 12 },
);
