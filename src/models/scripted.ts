import { readFile } from 'node:fs/promises';
import { messageOf, ReasonixError } from '../core/errors.ts';
import type { ToolCall } from '../core/messages.ts';
import { clipStart } from '../core/text.ts';
import type { Usage } from '../core/usage.ts';
import { type Clock, systemClock } from './clock.ts';
import type { GenerateOptions, ModelClient, ModelReply, ModelRequest } from './contract.ts';
import { CHARACTERS_PER_TOKEN, estimateUsage } from './estimate.ts';
import { CutStream, cancelledError, providerError } from './provider-error.ts';
import { factsOf, type ScriptedState, type ScriptFacts } from './scripted-facts.ts';
import {
  replySchema,
  type ScriptedFault,
  type ScriptedReply,
  type ScriptedRule,
  scriptSchema,
} from './scripted-format.ts';
import { compileRules, faultsOf, noRule, type PreparedReply } from './scripted-rules.ts';
import { snapshot } from './snapshot.ts';

/** Answers a request in code. A string is an answer without calls. */
export type ScriptedFunction = (
  request: ModelRequest,
  facts: ScriptFacts,
) => ScriptedReply | string | Promise<ScriptedReply | string>;

export interface ScriptedOptions {
  /** Default `scripted`. */
  provider?: string | undefined;
  /** What error texts call the script; default `the script`. */
  source?: string | undefined;
  /** Keep a snapshot of each request in `requests`; default true. */
  record?: boolean | undefined;
  /** Milliseconds after which a `hang` is given up as a silent stream; default never. */
  idleTimeout?: number | undefined;
  clock?: Clock | undefined;
}

/** A model that answers by rules. */
export interface ScriptedModel extends ModelClient {
  /** Every request as it was sent, failed attempts included, frozen. */
  readonly requests: readonly ModelRequest[];
}

/**
 * Makes a model that answers by rules, or by a function, with no network.
 *
 * Rules are tried in order and the first whose conditions hold answers. What a rule depends on comes
 * from the request's own history, so that a session goes on the same way in another process; only
 * `faults` are counted in memory. See docs/scripted-model.md.
 * @example
 * const model = scriptedModel([
 *   { when: { step: 1 }, calls: [{ name: 'grep', arguments: { pattern: 'TODO' } }] },
 *   { text: 'There are {{last_result | count}} of them.' },
 * ]);
 * @throws ReasonixError `config` for rules that are none.
 */
export function scriptedModel(
  rules: readonly ScriptedRule[] | { rules: readonly ScriptedRule[] } | ScriptedFunction,
  options: ScriptedOptions = {},
): ScriptedModel {
  const { source = 'the script' } = options;
  if (typeof rules === 'function') return new Scripted(async (request) => fromFunction(rules, request), options);
  const compiled = compileRules(validRules('rules' in rules ? rules : { rules }, source));
  return new Scripted(async (request) => {
    const facts = factsOf(request);
    const rule = compiled.find((each) => each.applies(facts));
    if (!rule) throw noRule(facts, source);
    return { reply: rule.reply(facts), step: facts.step, rule: rule.name };
  }, options);
}

/**
 * Reads a script in YAML.
 * @throws ReasonixError `config` naming the file, and the line where it is wrong.
 */
export async function loadScript(path: string, options: ScriptedOptions = {}): Promise<ScriptedModel> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new ReasonixError('config', `cannot read the script ${path}: ${messageOf(error)}`, {
      hint: 'check `script` of the provider',
      cause: error,
    });
  }
  const { readScript } = await import('./scripted-file.ts');
  return scriptedModel({ rules: readScript(text, path) }, { source: path, record: false, ...options });
}

interface Answer {
  reply: PreparedReply;
  step: number;
  /** Absent for a function. */
  rule?: string;
}

class Scripted implements ScriptedModel {
  readonly provider: string;
  readonly #requests: ModelRequest[] = [];
  readonly #answer: (request: ModelRequest) => Promise<Answer>;
  readonly #options: ScriptedOptions;
  readonly #clock: Clock;
  /** How often each fault of each rule has struck. */
  readonly #struck = new Map<string, number[]>();

  constructor(answer: (request: ModelRequest) => Promise<Answer>, options: ScriptedOptions) {
    this.provider = options.provider ?? 'scripted';
    this.#answer = answer;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get requests(): readonly ModelRequest[] {
    return this.#requests;
  }

  async generate(request: ModelRequest, { signal, onDelta }: GenerateOptions): Promise<ModelReply> {
    if (signal.aborted) throw cancelledError(signal);
    if (this.#options.record ?? true) this.#requests.push(snapshot(request));
    const { reply: whole, step, rule } = await this.#answer(request);
    const reply = withinLimit(whole, request);
    const fault = this.#nextFault(rule ?? `step ${step} of ${request.session}`, reply.faults);
    let sent = '';
    try {
      if (reply.latency) await this.#clock.sleep(reply.latency, signal);
      if (fault?.status !== undefined || fault?.network) throw failureOf(fault);
      if (fault?.hang) await this.#hang(signal);
      if (reply.reasoning) onDelta?.({ type: 'reasoning', text: reply.reasoning });
      const text = fault?.cut_after === undefined ? reply.text : reply.text.slice(0, fault.cut_after);
      for await (const piece of this.#pieces(text, reply, signal)) {
        sent += piece;
        onDelta?.({ type: 'text', text: piece });
      }
      if (fault?.cut_after !== undefined) throw new CutStream();
    } catch (error) {
      if (signal.aborted) throw cancelledError(signal, sent);
      throw providerError(error, { provider: this.provider, model: request.model, partialText: sent });
    }
    return this.#reply(request, reply, { step, rule });
  }

  #reply(
    request: ModelRequest,
    reply: PreparedReply,
    { step, rule }: { step: number; rule: string | undefined },
  ): ModelReply {
    const { text, reasoning } = reply;
    const toolCalls = reply.calls.map(
      (call, index): ToolCall => ({
        id: call.id ?? `call_${step}_${index + 1}`,
        name: call.name,
        arguments: call.arguments,
      }),
    );
    const state: ScriptedState | undefined = rule === undefined ? undefined : { wire: 'scripted', rule };
    return {
      text,
      ...(reasoning === undefined ? {} : { reasoning }),
      toolCalls,
      ...(state ? { providerState: state } : {}),
      usage: {
        ...estimateUsage(request, { text, reasoning, toolCalls }),
        ...(reply.usage as Partial<Usage> | undefined),
      },
      model: request.model,
      finishReason: reply.finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    };
  }

  async *#pieces(text: string, { chunks }: PreparedReply, signal: AbortSignal): AsyncGenerator<string> {
    if (text === '') return;
    const characters = Array.from(text);
    const size =
      typeof chunks === 'number' ? Math.ceil(characters.length / chunks) : (chunks?.size ?? characters.length);
    const delay = typeof chunks === 'object' ? (chunks.delay ?? 0) : 0;
    for (let start = 0; start < characters.length; start += size) {
      if (start > 0 && delay > 0) await this.#clock.sleep(delay, signal);
      yield characters.slice(start, start + size).join('');
    }
  }

  #nextFault(key: string, faults: readonly ScriptedFault[]): ScriptedFault | undefined {
    if (faults.length === 0) return undefined;
    const struck = this.#struck.get(key) ?? faults.map(() => 0);
    this.#struck.set(key, struck);
    const index = faults.findIndex(({ times = 1 }, each) => times === 'always' || (struck[each] ?? 0) < times);
    if (index >= 0) struck[index] = (struck[index] ?? 0) + 1;
    return faults[index];
  }

  async #hang(signal: AbortSignal): Promise<never> {
    const { idleTimeout } = this.#options;
    if (idleTimeout === undefined) {
      if (signal.aborted) throw cancelledError(signal);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      throw cancelledError(signal);
    }
    await this.#clock.sleep(idleTimeout, signal);
    throw new CutStream(`the stream was silent for ${idleTimeout / 1000} s`);
  }
}

async function fromFunction(answer: ScriptedFunction, request: ModelRequest): Promise<Answer> {
  const facts = factsOf(request);
  let reply: ScriptedReply;
  try {
    const given = await answer(request, facts);
    reply = replySchema().parse(typeof given === 'string' ? { text: given } : given);
  } catch (error) {
    if (ReasonixError.isInstance(error)) throw error;
    throw new ReasonixError('provider', `the script's function failed: ${messageOf(error)}`, {
      cause: error,
      details: { retryable: false },
    });
  }
  const calls = (reply.calls ?? []).map((call) => ({
    name: call.name,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
    id: call.id,
  }));
  return { reply: { ...reply, text: reply.text ?? '', calls, faults: faultsOf(reply) }, step: facts.step };
}

function validRules(script: unknown, source: string): readonly ScriptedRule[] {
  const result = scriptSchema().safeParse(script);
  if (result.success) return result.data.rules;
  const issues = result.error.issues.map((issue) => `${issue.path.join('.') || 'rules'}: ${issue.message}`);
  throw new ReasonixError('config', `${source}: ${issues.join('; ')}`, {
    hint: 'docs/scripted-model.md shows the format',
  });
}

/** The error as a provider's SDK would have thrown it. */
function failureOf(fault: ScriptedFault): unknown {
  if (fault.network)
    return new TypeError('fetch failed', { cause: new Error(fault.message ?? 'connect ECONNREFUSED') });
  const headers = new Headers(fault.retry_after === undefined ? {} : { 'retry-after': String(fault.retry_after) });
  return { status: fault.status, headers, error: { message: fault.message ?? `scripted fault ${fault.status}` } };
}

/** An answer that is longer than the request allows ends where a server would end it. */
function withinLimit(reply: PreparedReply, { maxOutputTokens }: ModelRequest): PreparedReply {
  if (maxOutputTokens === undefined) return reply;
  const room = maxOutputTokens * CHARACTERS_PER_TOKEN;
  // A script that states its usage or its finish reason means what it says.
  if (reply.text.length <= room || reply.usage !== undefined || reply.finish !== undefined) return reply;
  return { ...reply, text: clipStart(reply.text, room), calls: [], finish: 'length' };
}
