import { wellFormed } from '../core/text.ts';
import { noUsage, type Usage } from '../core/usage.ts';
import { errorIn } from './answer.ts';
import type { ModelDelta, ModelReply, ModelRequest } from './contract.ts';
import { estimateUsage } from './estimate.ts';
import { type ChatState, IN_CONTENT } from './openai-body.ts';
import { CutStream } from './provider-error.ts';
import { isObjectText } from './repair-json.ts';
import { argumentsAsText, finishedCalls, plainText, type RawCall } from './tool-calls.ts';
import { normalUsage, tokenCount } from './usage-counts.ts';

/** A chunk as servers really send it: any field may be absent, null or of a dialect. */
interface ChatChunk {
  model?: string | null;
  usage?: ChatUsage | null;
  /** Groq's. */
  x_groq?: { usage?: ChatUsage | null } | null;
  choices?: ({ delta?: ChatDelta | null; finish_reason?: string | null } | null)[] | null;
}

interface ChatDelta {
  /** A list of parts from Mistral's models that think. */
  content?: string | (ContentPart | null)[] | null;
  refusal?: string | null;
  reasoning_content?: string | null;
  reasoning?: string | null;
  thinking?: string | null;
  reasoning_details?: unknown[] | null;
  tool_calls?: (ChatCallDelta | null)[] | null;
}

interface ContentPart {
  type?: string | null;
  text?: string | null;
  thinking?: string | (ContentPart | null)[] | null;
}

interface ChatCallDelta {
  index?: number | null;
  id?: string | number | null;
  /** Some servers send the arguments as the object that they are. */
  function?: { name?: string | null; arguments?: string | Record<string, unknown> | null } | null;
}

interface ChatUsage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  prompt_tokens_details?: { cached_tokens?: number | null; cache_write_tokens?: number | null } | null;
  completion_tokens_details?: { reasoning_tokens?: number | null } | null;
  /** DeepSeek's. */
  prompt_cache_hit_tokens?: number | null;
}

/** Finish reasons of dialects by the names that all wires share. */
const FINISH: Readonly<Record<string, string>> = {
  function_call: 'tool_calls',
  max_tokens: 'length',
  model_length: 'length',
  end_turn: 'stop',
};

/**
 * Finish reasons of a server that broke off: DeepSeek's, https://api-docs.deepseek.com/api/create-chat-completion,
 * OpenRouter's `error`, vLLM's `abort` and that of Z.ai. What came is no answer.
 */
const BROKEN = new Set(['insufficient_system_resource', 'error', 'abort', 'network_error']);

/** The fields in which servers stream reasoning; the first that comes counts. */
const REASONING_FIELDS = ['reasoning_content', 'reasoning', 'thinking'] as const;

/** An answer that was not streamed. */
interface WholeChat extends Omit<ChatChunk, 'choices'> {
  choices?: ({ message?: ChatDelta | null; finish_reason?: string | null; error?: unknown } | null)[] | null;
}

/** A call as its pieces come: `begin` and `end` are the first and the last character of its arguments. */
interface GatheredCall {
  slot: unknown;
  id: string;
  name: string;
  arguments: string;
  begin: string;
  end: string;
  looks: number;
}

/** The parts of an answer, put together. */
export class ChatCollector {
  text = '';
  #reasoning = '';
  #reasoningField: string | undefined;
  readonly #reasoningDetails: unknown[] = [];
  readonly #calls: GatheredCall[] = [];
  #usage: ChatUsage | undefined;
  #model = '';
  #finishReason: string | undefined;
  /** More came after a reason to end: some servers name one in every chunk, which announces nothing. */
  #goesOn = false;

  get isWhole(): boolean {
    return this.#finishReason !== undefined && !this.#goesOn;
  }

  /**
   * Takes a chunk in; returns what a viewer may be shown of it.
   * @throws what an upstream of the server is said to have failed with, in the shape of the SDK's errors.
   */
  add(chunk: unknown): ModelDelta[] {
    const { model, usage, x_groq: groq, choices } = (chunk ?? {}) as ChatChunk;
    if (model) this.#model = model;
    for (const counts of [groq?.usage, usage]) if (hasCounts(counts)) this.#usage = counts;
    const [choice] = listOf(choices);
    const error = choice && errorIn(choice as Record<string, unknown>);
    if (error) throw error;
    const hadEnded = this.#finishReason !== undefined;
    if (choice?.finish_reason) this.#finishReason = choice.finish_reason;
    const deltas = choice?.delta ? this.#addDelta(choice.delta) : [];
    if (hadEnded && (deltas.length > 0 || listOf(choice?.delta?.tool_calls).length > 0)) this.#goesOn = true;
    return deltas;
  }

  /** Takes an answer in that was not streamed; a call of it has its place, whatever its id is. */
  addWhole(answer: Record<string, unknown>): ModelDelta[] {
    const { choices, ...rest } = answer as WholeChat;
    const [choice] = listOf(choices);
    if (!choice?.message && !choice?.error) throw new CutStream('the answer holds no choice');
    const { message, finish_reason: reason, error } = choice;
    const calls = listOf(message?.tool_calls).map((call, index) => call && { ...call, index });
    const finish = reason ?? (calls.length > 0 ? 'tool_calls' : 'stop');
    const delta = { ...message, tool_calls: calls };
    return this.add({ ...rest, choices: [{ delta, finish_reason: finish, error }] });
  }

  /** @throws CutStream when the stream ended before the answer did. */
  reply(request: ModelRequest): ModelReply {
    if (this.#finishReason === undefined) throw new CutStream();
    if (BROKEN.has(this.#finishReason)) throw new CutStream(`the server broke off: ${this.#finishReason}`);
    const text = wellFormed(this.text);
    const reasoning = this.#reasoning === '' ? undefined : wellFormed(this.#reasoning);
    const finishReason = FINISH[this.#finishReason] ?? this.#finishReason;
    const toolCalls = finishedCalls(this.#sortedCalls(), finishReason);
    const state = this.#state();
    return {
      text,
      ...(reasoning === undefined ? {} : { reasoning }),
      toolCalls,
      ...(state ? { providerState: state } : {}),
      usage: chatUsage(this.#usage ?? {}, () => estimateUsage(request, { text, reasoning, toolCalls })),
      model: this.#model || request.model,
      finishReason,
    };
  }

  #addDelta(delta: ChatDelta): ModelDelta[] {
    const deltas: ModelDelta[] = [];
    const parts = partsOf(delta.content);
    const text = parts.text || delta.refusal;
    for (const field of REASONING_FIELDS) {
      const piece = delta[field];
      if (typeof piece !== 'string' || piece === '') continue;
      this.#reasoningField ??= field;
      if (field !== this.#reasoningField) continue;
      this.#reasoning += piece;
      deltas.push({ type: 'reasoning', text: piece });
    }
    if (parts.thinking !== '') {
      this.#reasoningField ??= IN_CONTENT;
      this.#reasoning += parts.thinking;
      deltas.push({ type: 'reasoning', text: parts.thinking });
    }
    this.#reasoningDetails.push(...listOf(delta.reasoning_details).filter((piece) => piece !== null));
    if (typeof text === 'string' && text !== '') {
      this.text += text;
      deltas.push({ type: 'text', text });
    }
    for (const call of listOf(delta.tool_calls)) if (call) this.#addCall(call);
    return deltas;
  }

  /**
   * Pieces of a call belong together by their index. Some servers leave it out, or give every call of
   * a step the index 0: a piece with a new id and a name then begins another call. So does, without an id,
   * or with the same one for all, a piece that names a function and has arguments when those before it are
   * whole: together they would be no JSON. One that says the same once more is none.
   */
  #addCall(piece: ChatCallDelta): void {
    const id = plainText(piece.id);
    const name = plainText(piece.function?.name);
    const given = argumentsAsText(piece.function?.arguments);
    const last = this.#calls.at(-1);
    let call = typeof piece.index === 'number' ? this.#calls.findLast(({ slot }) => slot === piece.index) : undefined;
    if (typeof piece.index !== 'number') call = id === '' ? last : this.#calls.findLast((each) => each.id === id);
    let isOther = call !== undefined && name !== '' && id !== '' && call.id !== '' && id !== call.id;
    if (call && !isOther && name !== '' && /^\s*[{"]/.test(given) && mayBeWhole(call) && isObjectText(call.arguments)) {
      if (name === call.name && given === call.arguments) return;
      isOther = true;
    }
    if (!call || isOther) {
      call = { slot: piece.index ?? this.#calls.length, id, name: '', arguments: '', begin: '', end: '', looks: 0 };
      this.#calls.push(call);
    }
    if (call.id === '') call.id = id;
    if (call.name === '') call.name = name;
    call.arguments += given;
    call.begin ||= given.trimStart().charAt(0);
    call.end = given.trimEnd().at(-1) ?? call.end;
  }

  #sortedCalls(): RawCall[] {
    return [...this.#calls].sort((left, right) => Number(left.slot) - Number(right.slot));
  }

  #state(): ChatState | undefined {
    const details = mergeDetails(this.#reasoningDetails);
    if (this.#reasoningField === undefined && details.length === 0) return undefined;
    return {
      wire: 'chat',
      ...(this.#reasoningField === undefined ? {} : { reasoningField: this.#reasoningField }),
      ...(details.length === 0 ? {} : { reasoningDetails: details }),
    };
  }
}

const listOf = <Item>(items: readonly Item[] | null | undefined): readonly Item[] =>
  Array.isArray(items) ? items : [];

/** How often a call is read to see whether it is whole: servers may name the function in every piece of a long one. */
const MOST_LOOKS = 32;

/** Looks at no text: that would put it together from its pieces each time. */
function mayBeWhole(call: GatheredCall): boolean {
  return call.end === (call.begin === '"' ? '"' : '}') && ++call.looks <= MOST_LOOKS;
}

/** A last chunk of zeros does not take back what was counted. */
const hasCounts = (usage: ChatUsage | null | undefined): usage is ChatUsage =>
  tokenCount(usage?.prompt_tokens) + tokenCount(usage?.completion_tokens) > 0;

function partsOf(content: ChatDelta['content']): { text: string; thinking: string } {
  if (!Array.isArray(content)) return { text: content ?? '', thinking: '' };
  const parts = content.filter((part) => part !== null);
  const thinking = parts.map((part) => {
    if (part.type !== 'thinking') return '';
    return typeof part.thinking === 'string' ? part.thinking : partsOf(part.thinking).text;
  });
  const text = parts.map((part) => (part.type === 'thinking' ? '' : (part.text ?? '')));
  return { text: text.join(''), thinking: thinking.join('') };
}

/** OpenRouter streams a block in pieces with the same index; texts are joined, the rest is the newest. */
function mergeDetails(pieces: readonly unknown[]): unknown[] {
  const merged: Record<string, unknown>[] = [];
  for (const piece of pieces as Record<string, unknown>[]) {
    const before = merged.at(-1);
    if (!before || before.index === undefined || before.index !== piece.index || before.type !== piece.type) {
      merged.push({ ...piece });
      continue;
    }
    for (const [key, value] of Object.entries(piece)) {
      const isText = (key === 'text' || key === 'summary' || key === 'data') && typeof before[key] === 'string';
      if (isText) before[key] = `${before[key]}${value ?? ''}`;
      else if (value !== null && value !== undefined) before[key] = value;
    }
  }
  return merged;
}

/** `prompt_tokens` count the cached ones; DeepSeek names those `prompt_cache_hit_tokens`. */
export function chatUsage(usage: ChatUsage, estimate: () => Usage = noUsage): Usage {
  const counts = {
    input: usage.prompt_tokens,
    output: usage.completion_tokens,
    cache_read: usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens,
    cache_write: usage.prompt_tokens_details?.cache_write_tokens,
    reasoning: usage.completion_tokens_details?.reasoning_tokens,
  };
  return normalUsage(counts, estimate);
}
