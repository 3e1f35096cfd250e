import { attempt } from './attempt.ts';
import type { GenerateOptions, ModelClient, ModelReply, ModelRequest } from './contract.ts';
import { dialectOf } from './dialects.ts';
import { type OpenAISdk, openaiSdk } from './openai-sdk.ts';
import { toResponsesBody } from './responses-body.ts';
import { ResponsesCollector } from './responses-stream.ts';
import type { WireOptions } from './wire.ts';

/** The Responses API, of OpenAI or a server that speaks like it; stateless. One call is one attempt. */
export function responsesClient(options: WireOptions): ModelClient {
  return new ResponsesClient(options);
}

class ResponsesClient implements ModelClient {
  readonly provider: string;
  readonly #options: WireOptions;
  readonly #sdk: () => Promise<OpenAISdk>;

  constructor(options: WireOptions) {
    this.provider = options.name;
    this.#options = options;
    this.#sdk = openaiSdk(options);
  }

  generate(request: ModelRequest, options: GenerateOptions): Promise<ModelReply> {
    const { name, baseUrl } = this.#options;
    const collector = new ResponsesCollector(name);
    return attempt(this.#options, request, options, collector, async ({ watch, read }) => {
      const { cacheKey } = dialectOf({ name, baseUrl, model: request.model });
      const { client, decode } = await this.#sdk();
      const body = toResponsesBody(request, { ...this.#options, provider: name, cacheKey });
      const { signal, fetchOptions } = watch;
      await read(await client.responses.create(body, { signal, fetchOptions }).asResponse(), decode);
      return collector.reply(request);
    });
  }
}
