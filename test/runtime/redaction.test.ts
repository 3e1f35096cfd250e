import { expect, it } from 'vitest';
import { call, workshop } from './workshop.ts';

it('G07: keys in tool output are masked in the log and in what the model gets; code stays as it is', async () => {
  const shop = workshop();
  const secret = 'q7Zk-plain-looking-value';
  shop.write(
    'notes.txt',
    `token ${secret}\nkey sk-TEST0123456789abcdefXYZ\nAuthorization: Bearer TESTabcdef123456\nlet password: string = read();\n`,
  );
  const { runtime, model } = await shop.open(
    ({ messages }) =>
      messages.length === 1
        ? {
            calls: [
              call('read_file', { path: 'notes.txt' }),
              call('read_file', { path: 'missing/sk-TEST0123456789abcdefXYZ' }),
            ],
          }
        : 'ok',
    { env: { MY_API_KEY: secret } },
  );
  const session = await runtime.session();
  await session.send('go').result;
  const log = JSON.stringify(await runtime.store.read(session.id));
  const sent = JSON.stringify(model.requests.at(-1)?.messages.filter((message) => message.role === 'tool'));
  for (const text of [sent, log.replaceAll(/"toolCalls":\[.*?\]/g, '')]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain('sk-TEST');
    expect(text).not.toContain('TESTabcdef');
    expect(text).toContain('let password: string = read();');
  }
});
