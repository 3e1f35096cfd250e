import type { ModelClient } from './contract.ts';
import { dialectOf } from './dialects.ts';
import { toOpenAIBody } from './openai-body.ts';
import { openaiSdkClient } from './openai-sdk.ts';
import { ChatCollector } from './openai-stream.ts';
import type { WireOptions } from './wire.ts';

/** Chat completions, of OpenAI or any server that speaks like it. One call is one attempt. */
export function openaiClient(options: WireOptions): ModelClient {
  const { name, baseUrl } = options;
  return openaiSdkClient(options, {
    collector: () => new ChatCollector(),
    ask: (client, request, how) => {
      const dialect = dialectOf({ name, baseUrl, model: request.model });
      return client.chat.completions.create(toOpenAIBody(request, { ...options, dialect }), how).asResponse();
    },
  });
}
