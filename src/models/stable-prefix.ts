/** Where a request does not begin with the one before it: its provider's cache is lost from there on. */
export interface PrefixBreak {
  /** The session of the request, where it is known. */
  session: string | undefined;
  /** The request that broke the prefix, by its place in the list. */
  request: number;
  part: 'model' | 'tools' | 'system' | 'message';
  /** Of `message`: which one, from 0. */
  message: number | undefined;
  /** What differs, for people. */
  why: string;
}

/** What both the runtime's requests and the bodies of all wires have in common. */
interface Prefix {
  session: string | undefined;
  model: unknown;
  tools: readonly unknown[];
  system: unknown;
  messages: readonly unknown[];
}

/**
 * Finds every request that does not begin with the whole of its session's request before it: same model,
 * tools and system prompt, and messages that were only added to. `requests` are what `scriptedModel`
 * recorded, or bodies as a server got them (chat completions, Responses, Anthropic messages); requests of
 * several sessions may be mixed where they say whose they are. Marks of the cache are no part of a prefix.
 */
export function prefixBreaks(requests: readonly unknown[]): PrefixBreak[] {
  const newest = new Map<string | undefined, Prefix>();
  const breaks: PrefixBreak[] = [];
  requests.forEach((request, index) => {
    const prefix = prefixOf(request);
    const before = newest.get(prefix.session);
    newest.set(prefix.session, prefix);
    const found = before && difference(before, prefix);
    if (found) breaks.push({ session: prefix.session, request: index, ...found });
  });
  return breaks;
}

/**
 * Fails when a prefix breaks more often than `allowed`; a compaction breaks one, and nothing else should.
 * For tests of middleware that touches requests.
 * @throws Error that tells each break: which request, which message, and what differs.
 * @example
 * const model = scriptedModel([…]);
 * const runtime = await openRuntime({ model, middleware: [mine] });
 * …
 * expectStablePrefix(model.requests);
 */
export function expectStablePrefix(requests: readonly unknown[], { allowed = 0 }: { allowed?: number } = {}): void {
  const breaks = prefixBreaks(requests);
  if (breaks.length <= allowed) return;
  const lines = breaks.map(({ session, request, why }) => {
    const whose = session === undefined ? '' : ` of session ${session}`;
    return `  request ${request}${whose}: ${why}`;
  });
  const limit = allowed === 0 ? '' : `, and ${allowed} may`;
  const times = breaks.length === 1 ? '1 request does' : `${breaks.length} requests do`;
  throw new Error(`${times} not begin with the one before${limit}:\n${lines.join('\n')}`);
}

function prefixOf(request: unknown): Prefix {
  const body = withoutMarks(request) as Record<string, unknown>;
  const messages = listOf(body.messages ?? body.input);
  const isWire = 'stream' in body || body.input !== undefined || !('session' in body);
  const [first] = messages as { role?: unknown }[];
  const hasSystemMessage = isWire && (first?.role === 'system' || first?.role === 'developer');
  return {
    session: textOf(body.session) ?? textOf(body.prompt_cache_key),
    model: body.model,
    tools: listOf(body.tools),
    system: hasSystemMessage ? first : (body.system ?? body.instructions),
    messages: hasSystemMessage ? messages.slice(1) : messages,
  };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function withoutMarks(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutMarks);
  const entries = Object.entries(value).filter(([name, part]) => name !== 'cache_control' && part !== undefined);
  return Object.fromEntries(entries.map(([name, part]) => [name, withoutMarks(part)]));
}

type Found = Omit<PrefixBreak, 'session' | 'request'>;

function difference(before: Prefix, after: Prefix): Found | undefined {
  const whole = (part: Found['part'], why: string): Found => ({ part, message: undefined, why });
  if (before.model !== after.model) return whole('model', `the model was ${before.model} and is ${after.model}`);
  const tools = firstDifference(before.tools, after.tools);
  if (tools !== undefined || before.tools.length !== after.tools.length)
    return whole('tools', toolsDifference(before.tools, after.tools, tools));
  if (!same(before.system, after.system))
    return whole('system', `the system prompt differs ${placeOf(json(before.system), json(after.system))}`);
  const place = firstDifference(before.messages, after.messages);
  if (place === undefined) return undefined;
  const [was, is] = [before.messages[place], after.messages[place]];
  const isLast = place === before.messages.length - 1;
  if (isLast && isLonger(was, is)) return undefined;
  const name = `message ${place}${roleOf(was)}`;
  const why = is === undefined ? `${name} is gone` : `${name} differs ${placeOf(json(was), json(is))}`;
  return { part: 'message', message: place, why };
}

function firstDifference(before: readonly unknown[], after: readonly unknown[]): number | undefined {
  const place = before.findIndex((each, index) => !same(each, after[index]));
  return place < 0 ? undefined : place;
}

function toolsDifference(before: readonly unknown[], after: readonly unknown[], place = before.length): string {
  const nameAt = (tools: readonly unknown[]): string => {
    const tool = tools[place] as { name?: unknown; function?: { name?: unknown } } | undefined;
    return String(tool?.name ?? tool?.function?.name ?? 'none');
  };
  const [was, is] = [nameAt(before), nameAt(after)];
  return was === is
    ? `the tool ${was} differs ${placeOf(json(before[place]), json(after[place]))}`
    : `tool ${place} was ${was} and is ${is}`;
}

/** On the messages wire, what a user says next joins the results before it: the list of blocks grows. */
function isLonger(before: unknown, after: unknown): boolean {
  const [was, is] = [before, after] as ({ role?: unknown; content?: unknown } | undefined)[];
  if (was?.role !== is?.role || !Array.isArray(was?.content) || !Array.isArray(is?.content)) return false;
  return firstDifference(was.content, is.content) === undefined;
}

function roleOf(message: unknown): string {
  const { role, type } = (message ?? {}) as { role?: unknown; type?: unknown };
  const name = role ?? type;
  return name === undefined ? '' : ` (${name})`;
}

const json = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
const same = (left: unknown, right: unknown): boolean => left === right || json(left) === json(right);

/** Characters shown of both sides. */
const SHOWN = 40;

function placeOf(before: string, after: string): string {
  let at = 0;
  while (at < before.length && before[at] === after[at]) at++;
  const from = Math.max(0, at - 10);
  const excerpt = (text: string): string => `${from > 0 ? '…' : ''}${text.slice(from, from + SHOWN)}`;
  return `at character ${at}: ${excerpt(before)} became ${excerpt(after)}`;
}
