import type { FunctionTool, ResponseCreateParams, ResponseInputItem } from 'openai/resources/responses/responses';
import type { AssistantMessage, ToolDefinition, ToolMessage } from '../core/messages.ts';
import { wellFormed } from '../core/text.ts';
import { idOfForm } from './call-ids.ts';
import type { ModelRequest } from './contract.ts';
import { NO_REASONING } from './dialects.ts';
import { argumentsText, sendableHistory } from './history.ts';
import { outputLimit } from './output-limit.ts';
import { dataUrl, seesImages, withImageNote } from './vision.ts';
import type { RequestSettings } from './wire.ts';

/**
 * What an answer leaves in the log to be sent back: its items in order. Text and calls stand in the
 * message itself; an item without them takes them from there, so that a changed id or a masked text is
 * sent as the log has it.
 */
export interface ResponsesState {
  wire: 'responses';
  /** The provider that made it: reasoning is encrypted for its maker, and refused elsewhere. */
  provider: string;
  items: (Record<string, unknown> & { type: string })[];
}

export interface ResponsesBodyOptions extends RequestSettings {
  provider: string;
  /** Sends `prompt_cache_key`, which routes the requests of a session to one cache. */
  cacheKey: boolean;
}

/** Longer ids, as other servers make them, are refused: https://github.com/decolua/9router/issues/393 */
const CALL_ID = /^.{1,64}$/s;

export type ResponsesBody = ResponseCreateParams;

/**
 * The body of a request. Nothing is kept by the server: the whole history is sent, with the encrypted
 * reasoning in its place. Keys stand in the order of the prompt, and whatever may change from call to
 * call after the items, so that a longer history gives a body that starts with the bytes of the shorter one's.
 */
export function toResponsesBody(request: ModelRequest, options: ResponsesBodyOptions): ResponsesBody {
  const { tools, model } = request;
  const { parallelTools, stream = true } = options;
  const hasTools = tools.length > 0;
  const limit = outputLimit(request, options);
  const thinking = request.thinking ?? options.thinking;
  const effort = thinking === 0 ? 'none' : (request.effort ?? options.effort);
  const reasons = !NO_REASONING.test(model);
  const body = {
    model,
    ...(hasTools ? { tools: tools.map(toFunctionTool) } : {}),
    ...(request.system === '' ? {} : { instructions: wellFormed(request.system) }),
    input: toInput(request, options),
    stream,
    store: false,
    ...(reasons ? { include: ['reasoning.encrypted_content'] } : {}),
    ...(hasTools && request.toolChoice === 'none' ? { tool_choice: 'none' } : {}),
    ...(hasTools && parallelTools !== undefined ? { parallel_tool_calls: parallelTools } : {}),
    ...(limit === undefined ? {} : { max_output_tokens: limit }),
    ...(effort === undefined || !reasons ? {} : { reasoning: { effort } }),
    ...(options.cacheKey ? { prompt_cache_key: request.session } : {}),
  };
  return body as ResponsesBody;
}

function toInput(request: ModelRequest, options: ResponsesBodyOptions): ResponseInputItem[] {
  const sendsImages = options.images ?? seesImages(request.model);
  const history = sendableHistory(request.messages, { oneCall: options.parallelTools === false });
  return history.flatMap((message): ResponseInputItem[] => {
    if (message.role === 'tool') return [toOutput(message, sendsImages)];
    if (message.role === 'assistant') return toItems(message, options.provider);
    return [{ role: 'user', content: [{ type: 'input_text', text: message.content }] }];
  });
}

function toOutput({ callId, content, images }: ToolMessage, sendsImages: boolean): ResponseInputItem {
  const item = { type: 'function_call_output', call_id: idOfForm(callId, CALL_ID) } as const;
  if (!images) return { ...item, output: content };
  if (!sendsImages) return { ...item, output: withImageNote(content, images) };
  return {
    ...item,
    output: [
      ...(content === '' ? [] : [{ type: 'input_text' as const, text: content }]),
      ...images.map((image) => ({
        type: 'input_image' as const,
        image_url: dataUrl(image),
        detail: 'auto' as const,
      })),
    ],
  };
}

function toItems(message: AssistantMessage, provider: string): ResponseInputItem[] {
  const calls = message.toolCalls.map(
    (call): ResponseInputItem => ({
      type: 'function_call',
      call_id: idOfForm(call.id, CALL_ID),
      name: call.name,
      arguments: argumentsText(call.arguments),
    }),
  );
  const state = message.providerState as Partial<ResponsesState> | undefined | null;
  if (state?.wire !== 'responses' || !state.items || state.provider !== provider) {
    return [...textItem(message.text), ...calls];
  }
  const items: ResponseInputItem[] = [];
  for (const item of state.items) {
    if (item.type === 'function_call' && calls.length > 0) items.push(...calls.splice(0, 1));
    else if (item.type === 'function_call') dropReasoning(items);
    else if (item.type === 'message')
      items.push(...textItem(typeof item.text === 'string' ? item.text : message.text, item.phase));
    else items.push(item as unknown as ResponseInputItem);
  }
  items.push(...calls);
  dropReasoning(items);
  return items.length > 0 ? items : textItem(message.text);
}

/** Reasoning without what it led to is refused: the calls of a last word after a limit are left out. */
function dropReasoning(items: ResponseInputItem[]): void {
  while ((items.at(-1) as { type?: string } | undefined)?.type === 'reasoning') items.pop();
}

function textItem(text: string, phase?: unknown): ResponseInputItem[] {
  if (text.trim() === '') return [];
  const item = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] };
  return [{ ...item, ...(typeof phase === 'string' ? { phase } : {}) } as unknown as ResponseInputItem];
}

const toFunctionTool = ({ name, description, parameters }: ToolDefinition): FunctionTool => ({
  type: 'function',
  name,
  description: wellFormed(description),
  parameters,
  // Strict schemas may have no optional fields.
  strict: false,
});
