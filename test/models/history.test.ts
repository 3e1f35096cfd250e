import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/core/messages.ts';
import { argumentsObject, argumentsText, sendableHistory } from '../../src/models/history.ts';
import { pairCalls } from '../../src/models/pair-calls.ts';
import { anyMessages } from './histories.ts';
import { assistant, result, user } from './requests.ts';

/** Each assistant message is followed by exactly the results of its calls, in call order. */
function expectPaired(messages: readonly Message[]): void {
  const ids: string[] = [];
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') expect(message.callId).toBe(open.shift());
    else expect(open).toEqual([]);
    if (message.role === 'assistant') {
      open = message.toolCalls.map(({ id }) => id);
      ids.push(...open);
    }
  }
  expect(open).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).not.toContain('');
}

describe('pairCalls', () => {
  it('leaves a sound history as it is', () => {
    const messages = [
      user('x'),
      assistant('', [
        ['a', 't'],
        ['b', 't'],
      ]),
      result('a', 't', '1'),
      result('b', 't', '2'),
      assistant('y'),
    ];
    const paired = pairCalls(messages);
    expect(paired).toEqual(messages);
    expect(paired[1]).toBe(messages[1]);
  });

  it('answers a call without a result right after its message', () => {
    const messages = [
      user('x'),
      assistant('', [
        ['a', 't'],
        ['b', 't'],
      ]),
      result('b', 't', '2'),
      user('and?'),
    ];
    expect(pairCalls(messages)).toEqual([
      user('x'),
      messages[1],
      { role: 'tool', callId: 'a', name: 't', content: 'interrupted: the call did not finish', isError: true },
      result('b', 't', '2'),
      user('and?'),
    ]);
  });

  it('moves results up to their call, and drops those without one', () => {
    const messages = [
      result('z', 't', 'before all'),
      assistant('', [['a', 't']]),
      user('notice', 'notice'),
      result('a', 't', '1'),
      result('a', 't', 'twice'),
      assistant('', [['b', 't']]),
      result('a', 't', 'late'),
    ];
    expect(pairCalls(messages).map((message) => (message.role === 'tool' ? message.content : message.role))).toEqual([
      'assistant',
      '1',
      'user',
      'assistant',
      'interrupted: the call did not finish',
    ]);
  });

  it('makes ids unique', () => {
    const messages = [
      assistant('', [
        ['a', 't'],
        ['a', 't'],
        ['', 't'],
      ]),
      result('a', 't', '1'),
      result('a', 't', '2'),
      result('', 't', '3'),
      assistant('', [['a', 't']]),
      result('a', 't', '4'),
    ];
    const paired = pairCalls(messages);
    expectPaired(paired);
    expect(paired.flatMap((message) => (message.role === 'tool' ? [message.content] : []))).toEqual([
      '1',
      '2',
      '3',
      '4',
    ]);
  });

  it('pairs any history', () => {
    fc.assert(fc.property(anyMessages, (messages) => expectPaired(pairCalls(messages))));
  });
});

describe('sendableHistory', () => {
  it('F32 sends only well-formed Unicode, and no message without content', () => {
    fc.assert(
      fc.property(anyMessages, (messages) => {
        for (const message of sendableHistory(messages)) {
          expect(everyText(message).every((text) => text.isWellFormed())).toBe(true);
          if (message.role === 'assistant')
            expect(message.text.trim() !== '' || message.toolCalls.length > 0).toBe(true);
          if (message.role === 'user') expect(message.content.trim()).not.toBe('');
        }
      }),
    );
  });

  it('F32 mends a result that was cut in the middle of a character', () => {
    const poisoned = `${'a'.repeat(7999)}${'🎯'.slice(0, 1)}`;
    const [, , sent] = sendableHistory([user('x'), assistant('', [['a', 't']]), result('a', 't', poisoned)]);
    expect(sent).toMatchObject({ content: `${'a'.repeat(7999)}\ufffd` });
  });
});

describe('arguments of a call', () => {
  it.each([
    ['{"a": 1}', '{"a": 1}', { a: 1 }],
    ['', '{}', {}],
    ['null', '{}', {}],
    ['"{\\"a\\":1}"', '{"a":1}', { a: 1 }],
    ['{broken', '{"input":"{broken"}', { input: '{broken' }],
    ['[1]', '{"input":"[1]"}', { input: '[1]' }],
    ['{"a":"\\ud83c\\udfaf"}', '{"a":"\\ud83c\\udfaf"}', { a: '🎯' }],
    ['{"a":["\\ud83c x"],"\\udfaf":1}', '{"a":["\ufffd x"],"\ufffd":1}', { a: ['\ufffd x'], '\ufffd': 1 }],
    ['"{\\"a\\":\\"\\\\udfaf\\"}"', '{"a":"\ufffd"}', { a: '\ufffd' }],
  ])('%j is sent back as an object', (text, sent, object) => {
    expect(argumentsText(text)).toBe(sent);
    expect(argumentsObject(text)).toEqual(object);
  });
});

function everyText(message: Message): string[] {
  if (message.role !== 'assistant') return [message.content];
  return [message.text, message.reasoning ?? '', ...message.toolCalls.map((call) => call.arguments)];
}

describe('the name of a call', () => {
  it('is sent as every provider takes it, whatever a model made up', () => {
    const long = 'x'.repeat(80);
    const turn = assistant('', [
      ['a', 'functions.grep:0'],
      ['b', long],
      ['c', 'mcp__docs__search-all'],
    ]);
    const [, sent] = sendableHistory([user('x'), turn]);
    const names = sent?.role === 'assistant' ? sent.toolCalls.map(({ name }) => name) : [];
    expect(names).toEqual(['functions_grep_0', 'x'.repeat(64), 'mcp__docs__search-all']);
  });
});
