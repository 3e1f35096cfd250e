import { Agent } from '@mariozechner/pi-agent-core';

const text = (name) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] });

export async function open({ baseUrl }) {
  const model = (id) => ({
    id,
    name: id,
    api: 'openai-completions',
    provider: 'standin',
    baseUrl,
    reasoning: false,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 128_000,
    maxTokens: 4096,
  });
  const tool = (name, description, argument, run) => ({
    name,
    label: name,
    description,
    parameters: text(argument),
    execute: async (_id, values) => ({ content: [{ type: 'text', text: await run(values[argument]) }], details: {} }),
  });
  async function ask(id, systemPrompt, task, tools) {
    const agent = new Agent({ initialState: { systemPrompt, model: model(id), tools }, getApiKey: () => 'none' });
    await agent.prompt(task);
    const last = agent.state.messages.at(-1);
    if (last.errorMessage) throw new Error(last.errorMessage);
    return last.content.map((part) => part.text ?? '').join('');
  }
  const note = (take) => tool('note', 'Takes a note.', 'text', take);
  const delegated = (parent, child, take) => {
    const run = (task) => ask(child, 'Take one note, then answer.', task, [note(take)]);
    const delegate = tool('delegate', 'Hands a task to a worker.', 'task', run);
    return ask(parent, 'You take notes.', 'Take notes.', [delegate]);
  };
  return {
    turn: (steps, take) => ask(`turn-${steps}`, 'You take notes.', 'Take notes.', [note(take)]),
    children: (count, take) => delegated(`parent-${count}`, 'child-50ms', take),
    job: (count, take) => delegated(`job-${count}`, 'finding-50ms', take),
    chain: (count, take) => delegated(`chain-${count}`, 'long', take),
  };
}
