import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { views } from '../../src/cli/serve/views.ts';
import { isLoopback, Token } from '../../src/server/guard.ts';
import { serve } from '../../src/server/serve.ts';
import { workshop } from '../runtime/workshop.ts';
import { serving } from './serving.ts';

/** A request with headers that `fetch` would not send. */
function ask(
  address: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${address}${path}`, { headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject).end();
  });
}

const OPEN = ['/', '/sessions/s_1', '/follow.js', '/queues', '/api/v1/sessions', '/api/v1/openapi.json', '/nowhere'];

describe('who may ask', () => {
  it('nothing is answered without the token, or with a wrong one', async () => {
    const { served } = await serving(() => 'x');
    for (const path of OPEN) {
      for (const headers of [
        {},
        { authorization: 'Bearer wrong' },
        { authorization: served.token },
        { cookie: `reasonix=${served.token}` },
      ]) {
        const response = await fetch(`${served.address}${path}`, { headers: headers as Record<string, string> });
        expect([path, response.status]).toEqual([path, 401]);
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
        const text = await response.text();
        expect(text).not.toContain(served.token);
        if (path.startsWith('/api/')) expect(JSON.parse(text).error).toMatchObject({ code: 'unauthorized' });
      }
    }
    expect((await fetch(`${served.address}/api/v1/sessions?token=${served.token}x`)).status).toBe(401);
  });

  it('the token is taken from a header, from the address, and as the cookie that a page gets for it', async () => {
    const { served, api } = await serving(() => 'x');
    expect((await api('/sessions')).status).toBe(200);
    expect((await fetch(`${served.address}/api/v1/sessions?token=${served.token}`)).status).toBe(200);
    const first = await fetch(`${served.address}/?token=${served.token}&cursor=abc`, { redirect: 'manual' });
    expect([first.status, first.headers.get('location')]).toEqual([303, '/?cursor=abc']);
    const cookie = first.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
    const page = await fetch(`${served.address}/`, { headers: { cookie: `other=1; ${cookie.split(';')[0]}` } });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const away = await fetch(`${served.address}//evil.example/?token=${served.token}`, { redirect: 'manual' });
    expect(away.headers.get('location')).toBe('/evil.example/');
  });

  it('a name that was made to lead here is refused, and so is a page of another site', async () => {
    const { served } = await serving(() => 'x');
    const authorization = `Bearer ${served.token}`;
    const { port, host } = new URL(served.address);
    const status = async (headers: Record<string, string>) =>
      (await ask(served.address, '/api/v1/sessions', { authorization, ...headers })).status;
    expect(await status({ host: 'evil.example' })).toBe(403);
    expect(await status({ host: `evil.example:${port}` })).toBe(403);
    expect(await status({ host: `127.0.0.1.evil.example:${port}` })).toBe(403);
    for (const name of ['localhost', '127.0.0.1', '[::1]']) expect(await status({ host: `${name}:${port}` })).toBe(200);
    expect(await status({ host, origin: 'http://evil.example' })).toBe(403);
    expect(await status({ host, origin: 'null' })).toBe(403);
    expect(await status({ host, origin: `http://localhost:${port}` })).toBe(403);
    expect(await status({ host, origin: `http://${host}` })).toBe(200);
    const refused = await ask(served.address, '/api/v1/sessions', { authorization, host: 'evil.example' });
    expect(JSON.parse(refused.text).error).toMatchObject({ code: 'wrong_host', hint: expect.any(String) });
  });

  it('other addresses than loopback need a token that somebody chose', async () => {
    const { runtime } = await workshop().open(() => 'x');
    const options = { runtime, views, port: 0, version: '1', onProblem: () => {} };
    await expect(serve({ ...options, host: '0.0.0.0' })).rejects.toMatchObject({ code: 'usage' });
    const served = await serve({ ...options, host: '0.0.0.0', token: 'abcdefghijklmnop' });
    const { port } = new URL(served.address);
    const headers = { authorization: 'Bearer abcdefghijklmnop' };
    expect((await ask(`http://127.0.0.1:${port}`, '/api/v1/sessions', { ...headers, host: 'box.lan' })).status).toBe(
      200,
    );
    await served.close(0);
    await expect(serve({ ...options, host: '127.0.0.1', token: 'short' })).rejects.toMatchObject({ code: 'usage' });
  });

  it('a token is compared as a whole, and loopback is what it is', () => {
    const token = new Token('abcdefghijklmnop');
    expect(
      ['abcdefghijklmnop', 'abcdefghijklmno', 'abcdefghijklmnopq', '', undefined].map((given) => token.matches(given)),
    ).toEqual([true, false, false, false, false]);
    expect(['localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'].every(isLoopback)).toBe(true);
    expect(['0.0.0.0', '::', '10.0.0.1', 'localhost.evil', '127.0.0.1.evil'].some(isLoopback)).toBe(false);
  });

  it('a port that is taken is told as such', async () => {
    const { served, runtime } = await serving(() => 'x');
    const port = Number(new URL(served.address).port);
    const taken = serve({ runtime, views, host: '127.0.0.1', port, version: '1', onProblem: () => {} });
    await expect(taken).rejects.toMatchObject({ code: 'config', hint: expect.stringContaining('--port') });
  });
});
