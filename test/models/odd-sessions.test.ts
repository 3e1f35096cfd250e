import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { workshop } from '../runtime/workshop.ts';
import { block, completed, message, stopped } from './one-answer.ts';
import { chat, event, openStream, streamServer } from './stream-server.ts';

/** What a model answers in a step, as servers make it. */
interface Step {
  thinks: boolean;
  text: string;
  calls: { id: unknown; name: string; args: string }[];
  /** The answer was as long as it may be. */
  isCut: boolean;
}

const steps = fc.record<Step>({
  thinks: fc.boolean(),
  text: fc.constantFrom('', ' ', 'hello', 'wörld 😀', '\ud83d'),
  calls: fc.array(
    fc.record({
      id: fc.constantFrom<unknown>('same', 'same', '', 'a.b', 'c'.repeat(70), 7, null),
      name: fc.constantFrom('list_files', 'list_files', 'functions.list_files:0', 'no such tool', 'x'.repeat(90), ''),
      args: fc.constantFrom(
        '{}',
        '{"path":"."}',
        '{"path":',
        '',
        'null',
        '"{}"',
        '[1]',
        '{"path":"\\ud800"}',
        '\ud800',
      ),
    }),
    { maxLength: 3 },
  ),
  isCut: fc.boolean(),
});

const LAST: Step = { thinks: false, text: 'the end', calls: [], isCut: false };

interface Wire {
  kind: 'openai' | 'responses' | 'anthropic';
  stream(step: Step): string;
  /** What the API would refuse in a body. */
  problems(body: Record<string, unknown>): string[];
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const isObjectText = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
};

interface SentChat {
  role: string;
  content?: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

const chatWire: Wire = {
  kind: 'openai',
  stream: ({ thinks, text, calls, isCut }) =>
    [
      thinks ? chat({ reasoning_content: 'hm' }) : '',
      chat({ content: text }),
      ...calls.map(({ id, name, args }, index) =>
        chat({ tool_calls: [{ index, id, function: { name, arguments: args } }] }),
      ),
      chat({}, isCut ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop'),
      'data: [DONE]\n\n',
    ].join(''),
  problems(body) {
    const messages = body.messages as SentChat[];
    const ids = new Set<string>();
    return messages.flatMap(({ role, content, tool_calls: calls = [] }, at) => {
      if (role === 'assistant' && calls.length === 0 && !content?.trim()) return ['an empty message'];
      const results = messages.slice(at + 1, at + 1 + calls.length).map((each) => each.tool_call_id);
      return calls.flatMap(({ id, function: { name, arguments: args } }, index) => [
        ...(typeof id === 'string' && id !== '' && !ids.has(id) && ids.add(id) ? [] : ['an id']),
        ...(results[index] === id ? [] : ['a call without its result']),
        ...(NAME.test(name) ? [] : ['a name']),
        ...(isObjectText(args) ? [] : ['arguments']),
      ]);
    });
  },
};

type SentItem = { type?: string; role?: string; call_id?: string; name?: string; arguments?: string };

const responsesWire: Wire = {
  kind: 'responses',
  stream({ thinks, text, calls, isCut }) {
    const reasoning = { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'ENC' };
    const output = [
      ...(thinks ? [reasoning] : []),
      ...(text ? [{ type: 'message', id: 'm', content: [{ type: 'output_text', text }] }] : []),
      ...calls.map(({ id, name, args }, at) => ({
        type: 'function_call',
        id: `f${at}`,
        call_id: id,
        name,
        arguments: args,
      })),
      ...(isCut && thinks ? [{ ...reasoning, id: 'r2' }] : []),
    ];
    const reason = { incomplete_details: { reason: 'max_output_tokens' } };
    return isCut
      ? event('response.incomplete', { response: { status: 'incomplete', output, ...reason } })
      : completed({ output });
  },
  problems(body) {
    const input = body.input as SentItem[];
    const open = new Set<string | undefined>();
    const seen = new Set<string | undefined>();
    const found = input.flatMap(({ type, call_id: id, name = '', arguments: args = '' }, at) => {
      const next = input[at + 1];
      if (type === 'reasoning') {
        return !next || next.role === 'user' || next.type === 'function_call_output' ? ['reasoning by itself'] : [];
      }
      if (type === 'function_call_output') return open.delete(id) ? [] : ['a result without its call'];
      if (type !== 'function_call') return [];
      const isNew = !seen.has(id);
      seen.add(id);
      open.add(id);
      return [
        ...(isNew && typeof id === 'string' && id !== '' && id.length <= 64 ? [] : ['an id']),
        ...(NAME.test(name) ? [] : ['a name']),
        ...(isObjectText(args) ? [] : ['arguments']),
      ];
    });
    return open.size > 0 ? [...found, 'a call without its result'] : found;
  },
};

type SentBlock = { type: string; text?: string; id?: string; name?: string; tool_use_id?: string; input?: unknown };

const messagesWire: Wire = {
  kind: 'anthropic',
  stream({ thinks, text, calls, isCut }) {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'SIG' };
    const blocks = [
      ...(thinks ? [thinking] : []),
      ...(text ? [{ type: 'text', text }] : []),
      ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: {}, args })),
      ...(isCut && thinks ? [thinking] : []),
    ];
    return [
      message({ input_tokens: 3 }),
      ...blocks.map((each, index) => {
        if (!('args' in each)) return block(index, each);
        const { args, ...use } = each;
        const delta = { type: 'input_json_delta', partial_json: args };
        const start = event('content_block_start', { index, content_block: use });
        return start + event('content_block_delta', { index, delta }) + event('content_block_stop', { index });
      }),
      stopped({ output_tokens: 5 }, isCut ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn'),
    ].join('');
  },
  problems(body) {
    const messages = body.messages as { role: string; content: SentBlock[] }[];
    const ids = new Set<string>();
    return messages.flatMap(({ role, content }, at) => {
      const uses = content.filter(({ type }) => type === 'tool_use');
      const results = messages[at + 1]?.content.slice(0, uses.length).map((each) => each.tool_use_id) ?? [];
      return [
        ...(role === (at % 2 === 0 ? 'user' : 'assistant') ? [] : ['roles that do not alternate']),
        ...(content.length > 0 ? [] : ['an empty message']),
        ...(role === 'assistant' && /thinking$/.test(content.at(-1)?.type ?? '') ? ['thinking at the end'] : []),
        ...(content.some(({ type, text }) => type === 'text' && !text?.trim()) ? ['an empty text'] : []),
        ...uses.flatMap(({ id = '', name = '', input }, index) => [
          ...(/^[a-zA-Z0-9_-]+$/.test(id) && !ids.has(id) && ids.add(id) ? [] : ['an id']),
          ...(results[index] === id ? [] : ['a call without its result']),
          ...(NAME.test(name) ? [] : ['a name']),
          ...(isObjectText(JSON.stringify(input)) ? [] : ['arguments']),
        ]),
      ];
    });
  },
};

describe.each([chatWire, responsesWire, messagesWire])('a session over $kind', ({ kind, stream, problems }) => {
  it('sends nothing that the API refuses, and goes on, whatever the answers before were', async () => {
    const turns = fc.array(fc.array(steps, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(turns, async (plan) => {
        const left: Step[] = [];
        const found: string[] = [];
        const server = await streamServer((response) => {
          const body = server.bodies.at(-1) ?? {};
          if (/\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])/i.test(JSON.stringify(body))) found.push('half a character');
          found.push(...problems(body));
          openStream(response);
          response.end(stream(left.shift() ?? LAST));
        });
        const shop = workshop();
        shop.write(
          'reasonix.toml',
          `[agent]\nmax_steps = 4\n[[providers]]\nname = "server"\nkind = "${kind}"\nbase_url = "${server.url}"\nmodels = ["m"]\n`,
        );
        const runtime = await openRuntime({ cwd: shop.cwd, home: shop.home, env: {}, trustProject: true });
        try {
          const session = await runtime.session();
          for (const turn of plan) {
            left.splice(0, left.length, ...turn);
            const { status, error } = await session.send('go').result;
            expect(status, error).not.toBe('failed');
          }
          expect(found).toEqual([]);
        } finally {
          await runtime.close();
          await server.close();
        }
      }),
      { numRuns: 12 },
    );
  });
});
