import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';

export async function open({ baseUrl }) {
  const provider = createOpenAICompatible({ name: 'standin', baseURL: baseUrl });
  async function ask(model, system, prompt, tools) {
    const { text } = await generateText({ model: provider(model), system, prompt, tools, stopWhen: stepCountIs(1000) });
    return text;
  }
  const note = (take) =>
    tool({
      description: 'Takes a note.',
      inputSchema: z.object({ text: z.string() }),
      execute: async ({ text }) => take(text),
    });
  const delegated = (parent, child, take) => {
    const delegate = tool({
      description: 'Hands a task to a worker.',
      inputSchema: z.object({ task: z.string() }),
      execute: ({ task }) => ask(child, 'Take one note, then answer.', task, { note: note(take) }),
    });
    return ask(parent, 'You take notes.', 'Take notes.', { delegate });
  };
  return {
    turn: (steps, take) => ask(`turn-${steps}`, 'You take notes.', 'Take notes.', { note: note(take) }),
    children: (count, take) => delegated(`parent-${count}`, 'child-50ms', take),
    job: (count, take) => delegated(`job-${count}`, 'finding-50ms', take),
    chain: (count, take) => delegated(`chain-${count}`, 'long', take),
  };
}
