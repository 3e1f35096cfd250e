import { describe, expect, it } from 'vitest';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { mockServer } from '../helpers/mock-server.ts';
import { type Workshop, workshop } from '../runtime/workshop.ts';

/** Whole runs against a server that we did not write, on both wires. */
const mock = mockServer();

const wires: [kind: string, model: string][] = [
  ['openai', 'gpt-5'],
  ['anthropic', 'claude-sonnet-4-5'],
];

interface Body {
  system?: unknown;
  messages: { role: string; content: unknown }[];
}

describe.each(wires)('a delegating run on the %s wire', (kind, model) => {
  /** A project set up by its `reasonix.toml`, as a user would. */
  async function project(): Promise<{ shop: Workshop; open: () => ReturnType<typeof openRuntime> }> {
    const shop = workshop();
    shop.write(
      'reasonix.toml',
      `default_model = "server/${model}"\n[[providers]]\nname = "server"\nkind = "${kind}"\nbase_url = "${mock.url}/v1"\nmodels = ["${model}"]\napi_key_env = "SERVER_KEY"\n`,
    );
    shop.skill('dig', { runAs: 'subagent' }, 'You are the digger of <<arguments>>.');
    shop.skill('tips', {}, 'Tips.');
    return { shop, open: () => openRuntime({ cwd: shop.cwd, home: shop.home, env: { SERVER_KEY: 'sk-test' } }) };
  }

  const twoChildren = {
    content: 'Delegating with a PARENT-SECRET.',
    toolCalls: ['gold', 'tin'].map((task) => ({
      name: 'run_skill',
      arguments: JSON.stringify({ name: 'dig', arguments: task }),
    })),
  };
  const sizes = () => mock.getRequests().map(({ body }) => Buffer.byteLength(JSON.stringify(body)));
  const bodies = () => mock.getRequests().map(({ body }) => body as unknown as Body);
  const textOf = (body: Body) => JSON.stringify(body);

  it('two children of one step; only answers come back; small first requests', async () => {
    const { open } = await project();
    mock.on({ systemMessage: 'digger of gold' }, { content: 'gold is at 7' }, { latency: 20 });
    mock.on({ systemMessage: 'digger of tin' }, { content: 'tin is at 9' }, { latency: 20 });
    mock.on({ userMessage: 'find metals', hasToolResult: false }, twoChildren, { chunkSize: 5 });
    mock.on({ userMessage: 'find metals', hasToolResult: true }, { content: 'gold 7, tin 9' });
    const runtime = await open();
    try {
      const run = await (await runtime.session()).send('find metals').result;
      expect(run).toMatchObject({ status: 'completed', answer: 'gold 7, tin 9' });
      expect(run.subagents.map(({ status }) => status)).toEqual(['completed', 'completed']);
      const children = bodies().filter((body) => textOf(body).includes('digger of'));
      expect(children).toHaveLength(2);
      for (const child of children) expect(textOf(child)).not.toContain('PARENT-SECRET');
      const last = textOf(bodies().at(-1) as Body);
      expect(last).toContain('gold is at 7');
      expect(last).not.toContain('digger of gold');
      expect(sizes()[0]).toBeLessThanOrEqual(9_000);
      for (const [index, body] of bodies().entries()) {
        if (textOf(body).includes('digger of')) expect(sizes()[index]).toBeLessThanOrEqual(6_000);
      }
    } finally {
      await runtime.close();
    }
  });

  it('goes on through 429 with Retry-After, 529 and a stream cut in the middle; no event is doubled', async () => {
    const { open } = await project();
    const faults = [
      { error: { message: 'slow down' }, status: 429, retryAfter: 1 },
      { error: { message: 'overloaded' }, status: 529 },
    ];
    mock.on({ systemMessage: 'digger of' }, { content: 'dug' });
    for (const [sequenceIndex, response] of faults.entries()) {
      mock.on({ userMessage: 'find metals', hasToolResult: false, sequenceIndex }, response);
    }
    mock.on({ userMessage: 'find metals', hasToolResult: false }, twoChildren, { chunkSize: 5 });
    mock.on(
      { userMessage: 'find metals', hasToolResult: true, sequenceIndex: 0 },
      { content: 'this stream breaks off in the middle' },
      { chunkSize: 4, latency: 5, truncateAfterChunks: 4 },
    );
    mock.on({ userMessage: 'find metals', hasToolResult: true }, { content: 'whole' });
    const runtime = await open();
    try {
      const session = await runtime.session();
      const run = await session.send('find metals').result;
      expect(run).toMatchObject({ status: 'completed', answer: 'whole', steps: 2 });
      const types = (await runtime.store.read(session.id)).map((event) => event.type);
      expect(types.filter((type) => type === 'assistant.message')).toHaveLength(2);
      expect(types.filter((type) => type === 'tool.result')).toHaveLength(2);
      expect(types.filter((type) => type === 'usage')).toHaveLength(2);
    } finally {
      await runtime.close();
    }
  });

  it('names the variable when the key is missing', async () => {
    const { shop } = await project();
    const runtime = await openRuntime({ cwd: shop.cwd, home: shop.home, env: {} });
    await expect(runtime.session()).rejects.toMatchObject({
      code: 'provider_auth',
      message: expect.stringContaining('SERVER_KEY'),
    });
    await runtime.close();
  });
});
