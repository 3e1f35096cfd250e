import { isObject } from '../core/is-object.ts';
import type { Message } from '../core/messages.ts';
import { prompt } from '../core/prompts.ts';
import { wellFormed } from '../core/text.ts';
import { pairCalls } from './pair-calls.ts';

/**
 * The history that a wire may send: calls and results paired, only well-formed Unicode, no message
 * without content. Each message is treated by itself, so that a longer history extends a shorter one.
 */
export function sendableHistory(messages: readonly Message[], options: { oneCall?: boolean } = {}): Message[] {
  const paired = pairCalls(messages);
  return (options.oneCall ? oneCallAtATime(paired) : paired).filter(hasContent).map(clean);
}

/**
 * The same history with one call a message, for servers and templates that know no other: each call is
 * followed by its own result. Reasoning stays with the first.
 */
function oneCallAtATime(messages: readonly Message[]): Message[] {
  return messages.flatMap((message, index): Message[] => {
    if (message.role === 'tool') return [];
    if (message.role === 'user' || message.toolCalls.length === 0) return [message];
    const { providerState, reasoning, ...bare } = message;
    return message.toolCalls.flatMap((call, position): Message[] => {
      const alone = position === 0 ? { ...message, toolCalls: [call] } : { ...bare, text: '', toolCalls: [call] };
      const result = messages[index + 1 + position];
      return result?.role === 'tool' ? [alone, result] : [alone];
    });
  });
}

/** An empty reply is nudged for; the reply itself says nothing and providers refuse it. */
function hasContent(message: Message): boolean {
  return message.role !== 'assistant' || message.toolCalls.length > 0 || message.text.trim() !== '';
}

function clean(message: Message): Message {
  if (message.role === 'user') {
    const blank = message.content.trim() === '';
    return { ...message, content: blank ? prompt('empty-message') : wellFormed(message.content) };
  }
  if (message.role === 'tool') return { ...message, content: wellFormed(message.content) };
  return {
    ...message,
    text: wellFormed(message.text),
    ...(message.reasoning === undefined ? {} : { reasoning: wellFormed(message.reasoning) }),
    toolCalls: message.toolCalls.map((call) => ({
      ...call,
      name: sendableName(call.name),
      arguments: wellFormed(call.arguments),
    })),
  };
}

/**
 * A name as every provider takes it. Our own tools have such names; one that a model made up was answered as
 * unknown, and would have every later request refused.
 */
const sendableName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';

/**
 * The arguments of a call as an object. Servers parse what they are sent back, and some fail for good
 * on a text that is none, so that a call that was answered with "bad arguments" must not stay as it was.
 */
export function argumentsObject(text: string): Record<string, unknown> {
  const value = parsed(text);
  const unwrapped = typeof value === 'string' ? parsed(value) : value;
  if (isObject(unwrapped)) return unwrapped;
  return text.trim() === '' || unwrapped === null ? {} : { input: text };
}

/** Like `argumentsObject`, as text; a text that is an object already stays as the model wrote it. */
export function argumentsText(text: string): string {
  return isObject(parsed(text)) && !LONE_ESCAPE.test(text) ? text : JSON.stringify(argumentsObject(text));
}

/** An escaped half of a surrogate pair: well-formed as text, but not any more once a server has read the JSON. */
const LONE_ESCAPE = /\\ud[89ab][\da-f]{2}(?!\\ud[c-f][\da-f]{2})|(?<!\\ud[89ab][\da-f]{2})\\ud[c-f][\da-f]{2}/i;

function parsed(text: string): unknown {
  try {
    return LONE_ESCAPE.test(text) ? JSON.parse(text, (_, value: unknown) => withWholeTexts(value)) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function withWholeTexts(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [wellFormed(key), part]));
}
