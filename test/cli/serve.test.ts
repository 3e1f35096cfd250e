import { afterEach, describe, expect, test } from 'vitest';
import { freePort } from '../helpers/free-port.ts';
import { Machine } from './machine.ts';

const SCRIPT = `
rules:
  - name: slow
    when: { user: slow }
    text: late
    latency: 60000
  - name: answer
    text: "answer to {{user}}"
`;
const TOKEN = 'abcdefghijklmnopqrst';

describe('reasonix serve', () => {
  let machine: Machine | undefined;
  afterEach(() => machine?.remove());

  const alone = () => {
    // Neither service is asked: the configuration is alone.toml.
    machine = new Machine({ postgres: 'postgres://nowhere', redis: 'redis://nowhere', script: SCRIPT, group: 'none' });
    return machine;
  };

  test('prints its address, runs what is asked for, and cancels it at SIGTERM', async () => {
    const port = await freePort();
    const started = await alone().start(['serve', '--config', 'alone.toml', '--port', String(port)], {
      REASONIX_SERVE__TOKEN: TOKEN,
    });
    await started.said(/turns run in this process/);
    const post = (body: object) =>
      fetch(`http://127.0.0.1:${port}/api/v1/sessions`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      });
    const unknown = await post({ task: 'x', model: 'no/such' });
    expect([unknown.status, await unknown.json()]).toMatchObject([422, { error: { code: 'model_not_found' } }]);
    const { session } = (await (await post({ task: 'slow' })).json()) as { session: string };
    started.child.kill('SIGTERM');
    const { code, stdout, stderr } = await started.ended;
    expect([code, stdout]).toEqual([0, `http://127.0.0.1:${port}/?token=${TOKEN}\n`]);
    expect(stderr).toContain('SIGTERM: cancels 1 turn and ends');
    const shown = await machine!.run(['session', 'show', session, '--json', '--config', 'alone.toml']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ session, status: 'cancelled' });
  }, 60_000);

  test('makes a token at every start, and takes host and port from the configuration', async () => {
    const port = await freePort();
    const started = await alone().start(['serve', '--config', 'alone.toml', '-e', `serve.port=${port}`]);
    await started.said(/Ctrl-C ends it/);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(401);
    started.child.kill('SIGINT');
    const { code, stdout } = await started.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/\?token=[\w-]{32}\n$/);
  }, 60_000);

  test('refuses an open address without a token', async () => {
    const { code, stderr } = await alone().run(['serve', '--config', 'alone.toml', '--host', '0.0.0.0', '--port', '0']);
    expect(code).toBe(2);
    expect(stderr).toContain('0.0.0.0 is open to others, and there is no token');
    expect(stderr).toContain('hint: set REASONIX_SERVE__TOKEN');
  }, 60_000);
});
