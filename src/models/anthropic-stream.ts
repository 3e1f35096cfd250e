import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages/messages';
import { wellFormed } from '../core/text.ts';
import { addUsage, noUsage, type Usage } from '../core/usage.ts';
import type { MessagesState } from './anthropic-body.ts';
import type { ModelDelta, ModelReply, ModelRequest } from './contract.ts';
import { estimateUsage } from './estimate.ts';
import { CutStream } from './provider-error.ts';
import { finishedCalls, type RawCall } from './tool-calls.ts';

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
  /** Where the blocks of the part that streams now begin. */
  #base = 0;
  #counts: Counts = {};
  #usage: Usage = noUsage();
  #counted = false;
  #model = '';
  #stopReason: string | undefined;
  #ended = false;

  add(event: RawMessageStreamEvent): ModelDelta[] {
    switch (event.type) {
      case 'message_start':
        this.#model = event.message?.model ?? this.#model;
        this.#count(event.message?.usage);
        return [];
      case 'content_block_start':
        this.#blocks[this.#base + event.index] = { ...(event.content_block as unknown as Block), isOpen: true };
        return this.#shown(event.content_block as unknown as Block);
      case 'content_block_delta':
        return this.#addDelta(this.#blocks[this.#base + event.index], event.delta as unknown as Block);
      case 'content_block_stop': {
        const block = this.#blocks[this.#base + event.index];
        if (block) block.isOpen = false;
        return [];
      }
      case 'message_delta':
        this.#stopReason = event.delta.stop_reason ?? this.#stopReason;
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
    return events.flatMap((event) => this.add(event as unknown as RawMessageStreamEvent));
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
      this.#base = this.#blocks.length;
    }
    return paused;
  }

  /** All blocks as the API takes them back. */
  get content(): Record<string, unknown>[] {
    return this.#present().map(({ json, isOpen: _isOpen, ...block }) =>
      json === undefined ? block : { ...block, input: inputOf(json, block.input) },
    );
  }

  reply(request: ModelRequest): ModelReply {
    const blocks = this.#present();
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
      usage: this.#counted ? this.#usage : estimateUsage(request, { text, reasoning, toolCalls }),
      model: this.#model || request.model,
      finishReason,
    };
  }

  #addDelta(block: Block | undefined, delta: Block): ModelDelta[] {
    if (!block) return [];
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
      if (value === null || value === undefined) continue;
      Object.assign(this.#counts, { [name]: value });
      if (name === 'input_tokens' || name === 'output_tokens') this.#counted = true;
    }
  }

  #present(): Block[] {
    return this.#blocks.filter((block) => block !== undefined);
  }
}

const callsOf = (blocks: readonly Block[]): RawCall[] =>
  blocks
    .filter((block) => block.type === 'tool_use')
    .map((block) => ({ id: block.id ?? '', name: block.name ?? '', arguments: argumentsOf(block) }));

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
  const cacheRead = counts.cache_read_input_tokens ?? 0;
  const cacheWrite = counts.cache_creation_input_tokens ?? 0;
  return {
    input: (counts.input_tokens ?? 0) + cacheRead + cacheWrite,
    output: counts.output_tokens ?? 0,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    reasoning: counts.output_tokens_details?.thinking_tokens ?? 0,
  };
}
