import type { ModelClient } from './contract.ts';
import { dialectOf } from './dialects.ts';
import { openaiSdkClient } from './openai-sdk.ts';
import { toResponsesBody } from './responses-body.ts';
import { ResponsesCollector } from './responses-stream.ts';
import type { WireOptions } from './wire.ts';

/** The Responses API, of OpenAI or a server that speaks like it; stateless. One call is one attempt. */
export function responsesClient(options: WireOptions): ModelClient {
  const { name, baseUrl } = options;
  return openaiSdkClient(options, {
    collector: () => new ResponsesCollector(name),
    ask: (client, request, how) => {
      const { cacheKey } = dialectOf({ name, baseUrl, model: request.model });
      return client.responses
        .create(toResponsesBody(request, { ...options, provider: name, cacheKey }), how)
        .asResponse();
    },
  });
}
