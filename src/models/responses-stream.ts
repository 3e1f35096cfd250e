import { wellFormed } from '../core/text.ts';
import type { Usage } from '../core/usage.ts';
import type { ModelDelta, ModelReply, ModelRequest } from './contract.ts';
import { estimateUsage } from './estimate.ts';
import { CutStream } from './provider-error.ts';
import type { ResponsesState } from './responses-body.ts';
import { finishedCalls, type RawCall } from './tool-calls.ts';
import { normalUsage } from './usage-counts.ts';

/** An item of the answer as servers really send it. */
interface Item {
  type: string;
  id?: string | null;
  call_id?: string | null;
  name?: string | null;
  arguments?: string | null;
  phase?: string | null;
  summary?: ({ text?: string | null } | null)[] | null;
  content?: ({ type?: string | null; text?: string | null; refusal?: string | null } | null)[] | null;
  encrypted_content?: string | null;
}

interface ResponsesUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  input_tokens_details?: { cached_tokens?: number | null; cache_write_tokens?: number | null } | null;
  output_tokens_details?: { reasoning_tokens?: number | null } | null;
}

interface StreamEvent {
  type?: string;
  output_index?: number;
  item_id?: string;
  item?: Item | null;
  delta?: unknown;
  arguments?: string;
  code?: string | null;
  message?: string;
  response?: {
    model?: string | null;
    status?: string | null;
    output?: (Item | null)[] | null;
    usage?: ResponsesUsage | null;
    error?: { code?: string | null; message?: string | null } | null;
    incomplete_details?: { reason?: string | null } | null;
  };
}

/** An item while it is streamed: what `output_item.done` says in the end replaces the pieces. */
interface Part {
  item: Item;
  text: string;
  reasoning: string;
  refused: boolean;
  isDone: boolean;
}

/** Reasons of an answer that is not whole by the names that all wires share; without one, it was its length. */
const INCOMPLETE: Readonly<Record<string, string>> = { max_output_tokens: 'length', incomplete: 'length' };

/** The parts of an answer, put together. */
export class ResponsesCollector {
  text = '';
  readonly #parts: Part[] = [];
  readonly #provider: string;
  #usage: ResponsesUsage | undefined;
  #model = '';
  #status: string | undefined;
  #reason: string | undefined;

  constructor(provider: string) {
    this.#provider = provider;
  }

  get isWhole(): boolean {
    return this.#status !== undefined;
  }

  /** @throws what a `failed` or `error` event says, in the shape of the SDK's errors. */
  add(piece: unknown): ModelDelta[] {
    const event = (piece ?? {}) as StreamEvent;
    if (event.response?.model) this.#model = event.response.model;
    switch (event.type) {
      case 'response.output_item.added':
        this.#part(event, event.item);
        return [];
      case 'response.output_item.done':
        return this.#done(this.#part(event, event.item), event.item);
      case 'response.output_text.delta':
        return this.#addText(this.#part(event), event.delta);
      case 'response.refusal.delta': {
        const part = this.#part(event);
        part.refused = true;
        return this.#addText(part, event.delta);
      }
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return addReasoning(this.#part(event, { type: 'reasoning' }), event.delta);
      case 'response.reasoning_summary_part.added': {
        const part = this.#part(event, { type: 'reasoning' });
        return part.reasoning === '' ? [] : addReasoning(part, '\n\n');
      }
      case 'response.function_call_arguments.delta': {
        const { item } = this.#part(event, { type: 'function_call' });
        item.arguments = (item.arguments ?? '') + String(event.delta ?? '');
        return [];
      }
      case 'response.function_call_arguments.done':
        if (event.arguments) this.#part(event, { type: 'function_call' }).item.arguments = event.arguments;
        return [];
      case 'response.completed':
      case 'response.incomplete':
        return this.#end(event);
      case 'response.failed':
        throw failure(event.response?.error);
      case 'error':
        throw failure(event);
      default:
        return [];
    }
  }

  /** Takes an answer in that was not streamed. */
  addWhole(answer: Record<string, unknown>): ModelDelta[] {
    const response = answer as NonNullable<StreamEvent['response']>;
    if (response.status === 'failed') throw failure(response.error);
    if (!response.output) throw new CutStream('the answer holds no output');
    return this.add({ type: 'response.completed', response });
  }

  /** @throws CutStream when the stream ended before the answer did. */
  reply(request: ModelRequest): ModelReply {
    if (this.#status === undefined) throw new CutStream();
    const parts = this.#present();
    const text = wellFormed(this.text);
    const reasoning = wellFormed(
      parts
        .map((part) => part.reasoning)
        .filter((each) => each !== '')
        .join('\n\n'),
    );
    const finishReason = this.#finishReason(parts);
    const toolCalls = finishedCalls(callsOf(parts), finishReason);
    const items = stateItems(parts);
    const state: ResponsesState = { wire: 'responses', provider: this.#provider, items };
    return {
      text,
      ...(reasoning === '' ? {} : { reasoning }),
      toolCalls,
      ...(isPlain(items) ? {} : { providerState: state }),
      usage: responsesUsage(this.#usage, () => estimateUsage(request, { text, reasoning, toolCalls })),
      model: this.#model || request.model,
      finishReason,
    };
  }

  /** The part that an event belongs to: by its place, else by the item's id. */
  #part(event: StreamEvent, item?: Item | null): Part {
    const { output_index: place, item_id: id = item?.id } = event;
    let part = place === undefined ? this.#byId(id) : this.#parts[place];
    if (!part) {
      part = { item: { ...(item ?? { type: 'message' }) }, text: '', reasoning: '', refused: false, isDone: false };
      this.#parts[place ?? this.#parts.length] = part;
    }
    return part;
  }

  #byId(id: string | null | undefined): Part | undefined {
    return this.#present().find((part) => id && part.item.id === id);
  }

  /** The item as a whole; what was not streamed of it is shown now. */
  #done(part: Part, item: Item | null | undefined): ModelDelta[] {
    if (!item || part.isDone) return [];
    part.isDone = true;
    const streamed = part.item.arguments;
    part.item = { ...item, arguments: item.arguments || (streamed ?? null) };
    const content = (item.content ?? []).filter((piece) => piece !== null);
    if (item.type === 'message') {
      part.refused ||= content.some((piece) => piece.type === 'refusal');
      return part.text === ''
        ? this.#addText(part, content.map((piece) => piece.text ?? piece.refusal ?? '').join(''))
        : [];
    }
    if (item.type !== 'reasoning' || part.reasoning !== '') return [];
    const summary = (item.summary ?? []).map((piece) => piece?.text ?? '').join('\n\n');
    return addReasoning(part, summary || content.map((piece) => piece.text ?? '').join(''));
  }

  #addText(part: Part, delta: unknown): ModelDelta[] {
    if (typeof delta !== 'string' || delta === '') return [];
    part.text += delta;
    this.text += delta;
    return [{ type: 'text', text: delta }];
  }

  /**
   * Some servers stream nothing but the end, which holds the whole answer. Others leave items out of it, so
   * that one stands at another place than it was streamed at: taken by its place, it would be there twice.
   */
  #end({ type, response = {} }: StreamEvent): ModelDelta[] {
    this.#status = response.status ?? (type === 'response.incomplete' ? 'incomplete' : 'completed');
    this.#reason = response.incomplete_details?.reason ?? undefined;
    this.#usage = response.usage ?? undefined;
    return (response.output ?? []).flatMap((item, place) =>
      item ? this.#done(this.#byId(item.id) ?? this.#part({ output_index: place }, item), item) : [],
    );
  }

  #finishReason(parts: readonly Part[]): string {
    if (this.#status !== 'completed') {
      const reason = this.#reason ?? this.#status ?? 'incomplete';
      return INCOMPLETE[reason] ?? reason;
    }
    if (parts.some((part) => part.item.type === 'function_call')) return 'tool_calls';
    return parts.some((part) => part.refused) ? 'content_filter' : 'stop';
  }

  #present(): Part[] {
    return this.#parts.filter((part) => part !== undefined);
  }
}

function addReasoning(part: Part, delta: unknown): ModelDelta[] {
  if (typeof delta !== 'string' || delta === '') return [];
  part.reasoning += delta;
  return [{ type: 'reasoning', text: delta }];
}

const callsOf = (parts: readonly Part[]): RawCall[] =>
  parts
    .filter(({ item }) => item.type === 'function_call' && item.name)
    .map(({ item }) => ({ id: item.call_id, name: item.name, arguments: item.arguments }));

/** The items to be sent back. Reasoning that nobody could read again, with nothing kept by the server, is none. */
function stateItems(parts: readonly Part[]): ResponsesState['items'] {
  const texts = parts.filter((part) => part.item.type === 'message' && part.text.trim() !== '');
  return parts.flatMap((part): ResponsesState['items'] => {
    const { item } = part;
    if (item.type === 'function_call') return item.name ? [{ type: 'function_call' }] : [];
    if (item.type === 'message') {
      if (part.text.trim() === '') return [];
      const phase = item.phase ? { phase: item.phase } : {};
      return [{ type: 'message', ...phase, ...(texts.length > 1 ? { text: wellFormed(part.text) } : {}) }];
    }
    const { status: _status, ...kept } = item as Item & { status?: unknown };
    if (item.type === 'reasoning' && !item.encrypted_content && !item.content?.length) return [];
    const { arguments: _arguments, ...sent } = kept;
    return [sent as ResponsesState['items'][number]];
  });
}

/** Nothing to keep when one text, then calls, say it all. */
const isPlain = (items: ResponsesState['items']): boolean =>
  items.every(
    (item, index) => item.type === 'function_call' || (item.type === 'message' && index === 0 && !item.phase),
  );

function failure(error: { code?: string | null; message?: string | null } | null | undefined): Error {
  const { code, message } = error ?? {};
  const said = message || 'the server gave up on the answer';
  return Object.assign(new Error(said), { error: { code: code ?? 'server_error', message: said } });
}

function responsesUsage(usage: ResponsesUsage | undefined, estimate: () => Usage): Usage {
  const counts = {
    input: usage?.input_tokens,
    output: usage?.output_tokens,
    cache_read: usage?.input_tokens_details?.cached_tokens,
    cache_write: usage?.input_tokens_details?.cache_write_tokens,
    reasoning: usage?.output_tokens_details?.reasoning_tokens,
  };
  return normalUsage(counts, estimate);
}
