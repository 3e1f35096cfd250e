import { ChatOpenAI } from '@langchain/openai';
import { createDeepAgent } from 'deepagents';
import { tool } from 'langchain';
import { z } from 'zod';

export async function open({ baseUrl }) {
  // Streaming would have it fetch a tokenizer's data.
  const model = (name) =>
    new ChatOpenAI({ model: name, apiKey: 'none', streaming: false, configuration: { baseURL: baseUrl } });
  const note = (take) =>
    tool(({ text }) => take(text), {
      name: 'note',
      description: 'Takes a note.',
      schema: z.object({ text: z.string() }),
    });
  async function ask(options) {
    const agent = createDeepAgent({ systemPrompt: 'You take notes.', ...options });
    const { messages } = await agent.invoke(
      { messages: [{ role: 'user', content: 'Take notes.' }] },
      { recursionLimit: 10_000 },
    );
    return messages.at(-1).content;
  }
  const delegated = (parent, child, take) => {
    const worker = {
      name: 'worker',
      description: 'Takes one note.',
      systemPrompt: 'Take one note, then answer.',
      tools: [note(take)],
      model: model(child),
    };
    return ask({ model: model(parent), tools: [note(take)], subagents: [worker] });
  };
  return {
    turn: (steps, take) => ask({ model: model(`turn-${steps}`), tools: [note(take)] }),
    children: (count, take) => delegated(`parent-${count}`, 'child-50ms', take),
    job: (count, take) => delegated(`job-${count}`, 'finding-50ms', take),
    chain: (count, take) => delegated(`chain-${count}`, 'long', take),
  };
}
