import { wellFormed } from '../core/text.ts';
import { addUsage, noUsage, type Usage } from '../core/usage.ts';
import type { MessagesState } from './anthropic-body.ts';
import type { ModelDelta, ModelReply, ModelRequest } from './contract.ts';
import { estimateUsage } from './estimate.ts';
import { CutStream } from './provider-error.ts';
import { finishedCalls, type RawCall } from './tool-calls.ts';
import { normalUsage, tokenCount } from './usage-counts.ts';

interface Block extends Record<string, unknown> {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  id?: string;
  name?: string;
  /** Pieces of a call's arguments. */
  json?: string;
  input?: unknown;
  /** Its end has not come. */
  isOpen?: boolean;
}

type Counts = Partial<
  Record<'input_tokens' | 'output_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens', number | null>
> & {
  output_tokens_details?: { thinking_tokens?: number } | null;
};

/** An event as servers really send it. */
interface StreamEvent {
  type?: string;
  index?: number;
  message?: { model?: string; usage?: Counts | null } | null;
  content_block?: Block | null;
  delta?: (Partial<Block> & { stop_reason?: string | null }) | null;
  usage?: Counts | null;
}

/** Finish reasons by the names that all wires share; others stay what the provider said. */
const FINISH: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
};

/** The parts of an answer, put together over every pause of the turn. */
export class MessagesCollector {
  text = '';
  readonly #blocks: Block[] = [];
  /** The blocks of the part that streams now, by the index that it gives them: the newest with each. */
  readonly #places = new Map<number | undefined, Block>();
  #counts: Counts = {};
  #usage: Usage = noUsage();
  #model = '';
  #stopReason: string | undefined;
  #ended = false;

  get isWhole(): boolean {
    return this.#stopReason !== undefined;
  }

  add(piece: unknown): ModelDelta[] {
    const event = piece as StreamEvent;
    switch (event.type) {
      case 'message_start':
        this.#model = event.message?.model ?? this.#model;
        this.#count(event.message?.usage);
        return [];
      case 'content_block_start':
        return this.#begin(event.index, event.content_block);
      case 'content_block_delta':
        return this.#addDelta(this.#places.get(event.index), event.delta);
      case 'content_block_stop': {
        const block = this.#places.get(event.index);
        if (block) block.isOpen = false;
        return [];
      }
      case 'message_delta':
        this.#stopReason = event.delta?.stop_reason ?? this.#stopReason;
        this.#count(event.usage);
        return [];
      case 'message_stop':
        this.#ended = true;
        return [];
      default:
        return [];
    }
  }

  /**
   * Takes an answer in that was not streamed. Where it was cut off, its last call may lack arguments that
   * it was to have: its block stays open.
   */
  addWhole(answer: Record<string, unknown>): ModelDelta[] {
    const { content, stop_reason: reason } = answer as { content?: (Block | null)[]; stop_reason?: string | null };
    if (!Array.isArray(content)) throw new CutStream('the answer holds no content');
    const blocks = content.filter((block) => block !== null);
    const wasCut = FINISH[reason ?? ''] === 'length';
    const events = [
      { type: 'message_start', message: answer },
      ...blocks.flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: block },
        ...(wasCut && index === blocks.length - 1 ? [] : [{ type: 'content_block_stop', index }]),
      ]),
      { type: 'message_delta', delta: { stop_reason: reason } },
      { type: 'message_stop' },
    ];
    return events.flatMap((event) => this.add(event));
  }

  /**
   * True when the server paused the turn and wants to be asked to go on; the blocks so far then go
   * back as the last message.
   * @throws CutStream when the stream ended before the answer did.
   */
  endPart(): boolean {
    if (!this.#ended && this.#stopReason === undefined) throw new CutStream();
    this.#usage = addUsage(this.#usage, messagesUsage(this.#counts));
    this.#counts = {};
    const paused = this.#stopReason === 'pause_turn';
    if (paused) {
      this.#ended = false;
      this.#stopReason = undefined;
      this.#places.clear();
    }
    return paused;
  }

  /** All blocks as the API takes them back; it refuses a text without one. */
  get content(): Record<string, unknown>[] {
    const blocks = this.#blocks.filter(({ type, text }) => type !== 'text' || text?.trim());
    return blocks.map(({ json, isOpen: _isOpen, ...block }) =>
      json === undefined ? block : { ...block, input: inputOf(json, block.input) },
    );
  }

  reply(request: ModelRequest): ModelReply {
    const blocks = this.#blocks;
    const text = wellFormed(this.text);
    const reasoning = wellFormed(
      blocks.map((block) => (block.type === 'thinking' ? (block.thinking ?? '') : '')).join(''),
    );
    const finishReason = FINISH[this.#stopReason ?? 'end_turn'] ?? this.#stopReason ?? 'stop';
    const toolCalls = finishedCalls(callsOf(blocks), finishReason);
    const state = stateOf(blocks);
    return {
      text,
      ...(reasoning === '' ? {} : { reasoning }),
      toolCalls,
      ...(state ? { providerState: state } : {}),
      usage: normalUsage(this.#usage, () => estimateUsage(request, { text, reasoning, toolCalls })),
      model: this.#model || request.model,
      finishReason,
    };
  }

  #begin(index: number | undefined, block: Block | null | undefined): ModelDelta[] {
    if (!block) return [];
    const begun = { ...block, isOpen: true };
    this.#blocks.push(begun);
    this.#places.set(index, begun);
    return this.#shown(block);
  }

  #addDelta(block: Block | undefined, delta: StreamEvent['delta']): ModelDelta[] {
    if (!block || !delta) return [];
    switch (delta.type) {
      case 'text_delta':
        block.text = (block.text ?? '') + (delta.text ?? '');
        return this.#shown({ type: 'text', text: delta.text ?? '' });
      case 'thinking_delta':
        block.thinking = (block.thinking ?? '') + (delta.thinking ?? '');
        return this.#shown({ type: 'thinking', thinking: delta.thinking ?? '' });
      case 'signature_delta':
        block.signature = (block.signature ?? '') + (delta.signature ?? '');
        return [];
      case 'input_json_delta':
        block.json = (block.json ?? '') + String(delta.partial_json ?? '');
        return [];
      default:
        return [];
    }
  }

  #shown(block: Block): ModelDelta[] {
    if (block.type === 'thinking' && block.thinking) return [{ type: 'reasoning', text: block.thinking }];
    if (block.type !== 'text' || !block.text) return [];
    this.text += block.text;
    return [{ type: 'text', text: block.text }];
  }

  #count(counts: Counts | null | undefined): void {
    for (const [name, value] of Object.entries(counts ?? {})) {
      // Some servers repeat at the end, as zeros, what they counted at the start.
      if (typeof value === 'object' ? value : tokenCount(value) > 0) Object.assign(this.#counts, { [name]: value });
    }
  }
}

const callsOf = (blocks: readonly Block[]): RawCall[] =>
  blocks
    .filter((block) => block.type === 'tool_use')
    .map((block) => ({ id: block.id, name: block.name, arguments: argumentsOf(block) }));

/** A block whose end never came may lack arguments that it was to have. */
function argumentsOf({ json, input, isOpen }: Block): string {
  if (json !== undefined && json !== '') return json;
  return isOpen ? '' : JSON.stringify(input ?? {});
}

function inputOf(json: string, input: unknown): unknown {
  try {
    return json === '' ? (input ?? {}) : JSON.parse(json);
  } catch {
    return {};
  }
}

/** Nothing to keep when text then calls say it all. */
function stateOf(blocks: readonly Block[]): MessagesState | undefined {
  const isPlain = blocks.every((block, index) =>
    block.type === 'tool_use' ? true : block.type === 'text' && index === 0,
  );
  if (isPlain) return undefined;
  const texts = blocks.filter((block) => block.type === 'text' && block.text?.trim());
  return {
    wire: 'messages',
    blocks: blocks.flatMap((block) => {
      if (block.type === 'tool_use') return [{ type: 'tool_use' }];
      if (block.type !== 'text') {
        const { json, isOpen: _isOpen, ...rest } = block;
        return [json === undefined ? rest : { ...rest, input: inputOf(json, rest.input) }];
      }
      if (!block.text?.trim()) return [];
      return [texts.length === 1 ? { type: 'text' } : { type: 'text', text: wellFormed(block.text) }];
    }),
  };
}

/** `input_tokens` are the ones that no cache held. */
function messagesUsage(counts: Counts): Usage {
  const cacheRead = tokenCount(counts.cache_read_input_tokens);
  const cacheWrite = tokenCount(counts.cache_creation_input_tokens);
  const said = {
    input: tokenCount(counts.input_tokens) + cacheRead + cacheWrite,
    output: counts.output_tokens,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    reasoning: counts.output_tokens_details?.thinking_tokens,
  };
  return normalUsage(said, noUsage);
}
