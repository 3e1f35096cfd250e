/** No framework at all: the loop that everybody writes first. It keeps nothing, retries nothing, cannot be cancelled. */

const note = {
  type: 'function',
  function: {
    name: 'note',
    description: 'Takes a note.',
    parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  },
};
const delegate = {
  type: 'function',
  function: {
    name: 'delegate',
    description: 'Hands a task to a worker.',
    parameters: { type: 'object', properties: { task: { type: 'string' } }, required: ['task'] },
  },
};

async function readStream(response) {
  const message = { role: 'assistant', content: null };
  const decoder = new TextDecoder();
  let rest = '';
  for await (const part of response.body) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
      const delta = JSON.parse(line.slice(6)).choices[0]?.delta;
      if (delta?.content) message.content = (message.content ?? '') + delta.content;
      for (const { index, ...call } of delta?.tool_calls ?? []) {
        message.tool_calls ??= [];
        if (message.tool_calls[index]) message.tool_calls[index].function.arguments += call.function.arguments;
        else message.tool_calls[index] = call;
      }
    }
  }
  return message;
}

export async function open({ baseUrl, stream }) {
  async function loop(model, system, task, tools, run) {
    const messages = [
      { role: 'system', content: system },
      { role: 'user', content: task },
    ];
    for (;;) {
      const response = await fetch(`${baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model, tools, messages, stream }),
      });
      const message = stream ? await readStream(response) : (await response.json()).choices[0].message;
      messages.push(message);
      if (!message.tool_calls) return message.content;
      const results = await Promise.all(
        message.tool_calls.map(async (call) => ({
          role: 'tool',
          tool_call_id: call.id,
          content: await run(JSON.parse(call.function.arguments)),
        })),
      );
      messages.push(...results);
    }
  }
  const delegated = (parent, child, take) =>
    loop(parent, 'You take notes.', 'Take notes.', [delegate], ({ task }) =>
      loop(child, 'Take one note, then answer.', task, [note], ({ text }) => take(text)),
    );
  return {
    turn: (steps, take) => loop(`turn-${steps}`, 'You take notes.', 'Take notes.', [note], ({ text }) => take(text)),
    children: (count, take) => delegated(`parent-${count}`, 'child-50ms', take),
    job: (count, take) => delegated(`job-${count}`, 'finding-50ms', take),
    chain: (count, take) => delegated(`chain-${count}`, 'long', take),
  };
}
