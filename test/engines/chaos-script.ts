import type { ModelRequest } from '../../src/models/contract.ts';
import { type ScriptedModel, scriptedModel } from '../../src/models/scripted.ts';

/** What the processes of a test have in common. */
export interface Chaos {
  cwd: string;
  home: string;
  /** Folder of the files in which workers write down what they do. */
  records: string;
  overrides: string[];
  /** Milliseconds of a model call. */
  latency: number;
  children: number;
  nested: number;
}

const call = (name: string, input: unknown) => ({ name, arguments: JSON.stringify(input) });
const results = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message] : []));
const answerOf = (content: string) => content.split('\n').at(-1) ?? '';
const taskOf = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'user' ? [message.content] : []))[0] ?? '';

/**
 * A root asks `children` children, each of these `nested` more, which make a mark and answer; with `nested` 0
 * the children do so themselves. `asked` is called before each call, with how many answers the session had then.
 */
export function script(
  { latency, children, nested }: Chaos,
  asked: (session: string, step: number) => void,
): ScriptedModel {
  const fanOut = (request: ModelRequest, skill: string, count: number) => {
    const done = results(request);
    const names = Array.from({ length: count }, (_, index) => `${taskOf(request)}.${index}`);
    if (done.length === 0)
      return { latency, calls: names.map((name) => call('run_skill', { name: skill, arguments: name })) };
    return { latency, text: done.map(({ content }) => answerOf(content)).join(' ') };
  };
  const answer = (request: ModelRequest) => {
    asked(request.session ?? '', request.messages.filter(({ role }) => role === 'assistant').length);
    if (request.skill === undefined) return fanOut(request, nested > 0 ? 'outer' : 'inner', children);
    if (request.skill === 'outer') return fanOut(request, 'inner', nested);
    const text = taskOf(request);
    const last = results(request).at(-1)?.content;
    if (last === undefined || last === 'no') return { latency, calls: [call('mark', { text })] };
    // Nobody knows whether the mark was made: what a model is told to do then.
    if (last.startsWith('interrupted')) return { latency, calls: [call('is_marked', { text })] };
    return { latency, text: `marked ${text}` };
  };
  // A provider's client keeps no requests either, and what workers take is measured.
  return scriptedModel(answer, { record: false });
}

/** The answer of a root whose message was `name`. */
export const rightAnswer = (name: string, { children, nested }: Chaos): string =>
  Array.from({ length: children }, (_, child) =>
    Array.from({ length: nested }, (_, leaf) => `marked ${name}.${child}.${leaf}`).join(' '),
  ).join(' ');
