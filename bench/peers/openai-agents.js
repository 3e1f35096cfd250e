import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';

export async function open({ baseUrl }) {
  setTracingDisabled(true);
  const modelProvider = new OpenAIProvider({ baseURL: baseUrl, apiKey: 'none', useResponses: false });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  async function ask(model, instructions, task, tools) {
    const result = await runner.run(new Agent({ name: 'worker', instructions, model, tools }), task, {
      maxTurns: 1000,
    });
    return result.finalOutput;
  }
  const note = (take) =>
    tool({
      name: 'note',
      description: 'Takes a note.',
      parameters: z.object({ text: z.string() }),
      execute: async ({ text }) => take(text),
    });
  const delegated = (parent, child, take) => {
    const delegate = tool({
      name: 'delegate',
      description: 'Hands a task to a worker.',
      parameters: z.object({ task: z.string() }),
      execute: ({ task }) => ask(child, 'Take one note, then answer.', task, [note(take)]),
    });
    return ask(parent, 'You take notes.', 'Take notes.', [delegate]);
  };
  return {
    turn: (steps, take) => ask(`turn-${steps}`, 'You take notes.', 'Take notes.', [note(take)]),
    children: (count, take) => delegated(`parent-${count}`, 'child-50ms', take),
    job: (count, take) => delegated(`job-${count}`, 'finding-50ms', take),
    chain: (count, take) => delegated(`chain-${count}`, 'long', take),
  };
}
