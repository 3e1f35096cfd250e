import { attempt } from './attempt.ts';
import type { GenerateOptions, ModelClient, ModelReply, ModelRequest } from './contract.ts';
import { dialectOf } from './dialects.ts';
import { toOpenAIBody } from './openai-body.ts';
import { type OpenAISdk, openaiSdk } from './openai-sdk.ts';
import { ChatCollector } from './openai-stream.ts';
import type { WireOptions } from './wire.ts';

/** Chat completions, of OpenAI or any server that speaks like it. One call is one attempt. */
export function openaiClient(options: WireOptions): ModelClient {
  return new ChatClient(options);
}

class ChatClient implements ModelClient {
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
    const collector = new ChatCollector();
    return attempt(this.#options, request, options, collector, async ({ watch, read }) => {
      const dialect = dialectOf({ name, baseUrl, model: request.model });
      const { client, decode } = await this.#sdk();
      const body = toOpenAIBody(request, { ...this.#options, dialect });
      const { signal, fetchOptions } = watch;
      await read(await client.chat.completions.create(body, { signal, fetchOptions }).asResponse(), decode);
      return collector.reply(request);
    });
  }
}
