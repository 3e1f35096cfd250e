import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LLMock } from '@copilotkit/aimock';
import { expect, onTestFinished, test } from 'vitest';
import { createModels } from '../../src/models/models.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { workshop } from '../runtime/workshop.ts';
import { chat, openStream } from './stream-server.ts';

const CHILDREN = 20;
const AT_ONCE = 6;

interface ChatBody {
  messages: { role: string; content: string | null }[];
}

/** A model that starts twenty children at once, each of which takes two steps. Every second request is refused. */
async function refusingServer() {
  const seen = { requests: 0, refused: 0, answered: 0, open: 0, widest: 0 };
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    seen.widest = Math.max(seen.widest, ++seen.open);
    response.on('close', () => seen.open--);
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      if (++seen.requests % 2 === 0) {
        seen.refused++;
        response.writeHead(429, { 'retry-after-ms': '5' }).end('{"error":{"message":"slow down"}}');
        return;
      }
      seen.answered++;
      const { messages } = JSON.parse(Buffer.concat(parts).toString()) as ChatBody;
      // A model takes its time: a wave is seen when its members are there together.
      setTimeout(() => {
        openStream(response);
        response.end(`${answerTo(messages)}data: [DONE]\n\n`);
      }, 10);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

function answerTo(messages: ChatBody['messages']): string {
  const isChild = messages[0]?.content?.includes('DIG') ?? false;
  const hasResult = messages.some(({ role }) => role === 'tool');
  if (hasResult) return chat({ content: 'done' }, 'stop');
  const call = (index: number, name: string, input: object) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  });
  const calls = isChild
    ? [call(0, 'list_files', {})]
    : Array.from({ length: CHILDREN }, (_, index) => call(index, 'run_skill', { name: 'dig', arguments: `${index}` }));
  return chat({ tool_calls: calls }) + chat({}, 'tool_calls');
}

test('F18 twenty children get through a provider that refuses every second request, in no wave', async () => {
  const { seen, url } = await refusingServer();
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'DIG where you are told.');
  const models = createModels({
    providers: [{ name: 'local', kind: 'openai', base_url: url, models: ['m'] }],
    retry: { baseDelay: 20 },
    env: {},
  });
  const { cwd, home } = shop;
  const overrides = [`agent.max_concurrent=${AT_ONCE}`];
  const runtime = await openRuntime({ cwd, home, env: {}, models, overrides });
  onTestFinished(() => runtime.close());
  const { result } = (await runtime.session()).send('dig everywhere');
  const { status, subagents, usage } = await result;
  expect(status).toBe('completed');
  expect(subagents.map((child) => child.status)).toEqual(Array.from({ length: CHILDREN }, () => 'completed'));
  expect(usage.total.output).toBeGreaterThan(0);

  const minimum = 2 + 2 * CHILDREN;
  expect(seen.answered).toBe(minimum);
  expect(seen.requests).toBeLessThanOrEqual(2.2 * minimum);
  expect(seen.refused).toBeGreaterThanOrEqual(minimum - 1);
  expect(seen.widest).toBeLessThanOrEqual(AT_ONCE);
}, 60_000);

test('F18 children get through a server that we did not write, when it throttles', async () => {
  const mock = new LLMock({ port: 0 });
  await mock.start();
  onTestFinished(() => mock.stop());
  for (const sequenceIndex of [0, 1, 2])
    mock.on({ userMessage: 'task 3', sequenceIndex }, { error: { message: 'slow down' }, status: 429, retryAfter: 0 });
  mock.on({ userMessage: 'task' }, { content: 'done' });
  const provider = { name: 'mock', kind: 'openai' as const, base_url: `${mock.url}/v1`, models: ['gpt-5'] };
  const models = createModels({ providers: [provider], retry: { baseDelay: 20 }, env: {} });
  const shop = workshop();
  const runtime = await openRuntime({ cwd: shop.cwd, home: shop.home, env: {}, models });
  onTestFinished(() => runtime.close());
  const answers = await Promise.all(
    Array.from({ length: 5 }, async (_, index) => (await runtime.session()).send(`task ${index}`).result),
  );
  expect(answers.map(({ status, answer }) => [status, answer])).toEqual(
    Array.from({ length: 5 }, () => ['completed', 'done']),
  );
  expect(mock.getRequests()).toHaveLength(8);
});
