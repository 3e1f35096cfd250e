import { describe, expect, it } from 'vitest';
import { type Answer, add, client, KEY, listening, orderly, problemOf } from './mcp-web.ts';

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])('to another server gets nothing of ours, with %i', async (status) => {
    const other = await listening(orderly);
    const why = await problemOf((response) =>
      response.writeHead(status, { location: `${other.url}/mcp2?token=t#x` }).end(),
    );
    expect(other.asked).toEqual([]);
    expect(why).toBe(
      `it redirects to ${other.url}/mcp2, which is not followed: set its url to that address if you trust it`,
    );
  });

  it.each(['GET', 'DELETE', 'tools/list', 'tools/call'])(
    'in the middle gets nothing of ours either: %s',
    async (kind) => {
      const other = await listening(orderly);
      const { url, asked } = await listening((response, one, request) =>
        one.method === kind || one.message?.method === kind
          ? response.writeHead(307, { location: `${other.url}/mcp` }).end()
          : orderly(response, one, request),
      );
      const server = client(`${url}/mcp`);
      await server.start();
      const answer = await add(server);
      await server.close();
      await expect.poll(() => asked.map(({ method }) => method)).toContain(kind.includes('/') ? 'POST' : kind);
      expect(other.asked).toEqual([]);
      if (kind.includes('/')) expect(answer).toContain(`web`);
      if (kind.includes('/')) expect(answer).toContain(`redirects to ${other.url}/mcp, which is not followed`);
    },
  );

  it('to another path of its own is followed, with what was sent', async () => {
    const { url, asked } = await listening((response, one, request) =>
      one.path === '/mcp' ? response.writeHead(308, { location: '/mcp/' }).end() : orderly(response, one, request),
    );
    const server = client(`${url}/mcp`);
    await server.start();
    expect(await add(server)).toContain('fine');
    expect(asked.filter(({ path }) => path === '/mcp/').every(({ key }) => key === KEY)).toBe(true);
  });

  it('names no secret that was in our address', async () => {
    const { url } = await listening((response, { path }) =>
      response.writeHead(302, { location: `http://127.0.0.2:1${path}/` }).end(),
    );
    const server = client(`${url}/s/${['$', '{PLACE}'].join('')}/mcp`, {}, { KEY, PLACE: 'made-up-place' });
    await server.start();
    expect(server.problem).toContain('http://127.0.0.2:1/s/***/mcp/');
  });
});

describe('a server that is not to be had says why', () => {
  const page = `<html>${'x'.repeat(5_000)}</html>`;
  const plain = (status: number, text = '', type = 'text/plain'): Answer => {
    return (response) => response.writeHead(status, { 'content-type': type }).end(text);
  };

  it.each<[string, Answer, RegExp]>([
    ['401', plain(401), /^it answered 401: .*set headers/],
    ['403', plain(403), /^it answered 403: .*check the key/],
    ['404', plain(404), /^it answered 404: .*check its url/],
    ['405', plain(405), /^it answered 405: .*check its url/],
    ['406', plain(406), /^it answered 406: .*check its url/],
    ['503', plain(503), /^it answered 503: .*try again later/],
    ['404 with a page', plain(404, page, 'text/html'), /^it answered 404: no MCP server/],
    ['404 with a page that names no kind', plain(404, page), /^it answered 404: no MCP server/],
    ['a page', plain(200, page, 'text/html'), /^its answer is a web page: check its url/],
    ['no kind', plain(200, 'x', 'audio/ogg'), /^its answer is neither JSON nor events, but "audio\/ogg"/],
    ['other JSON', plain(200, '{"a":1}', 'application/json'), /^its answer is JSON, but none of MCP: check its url$/],
    ['broken JSON', plain(200, '{"a":', 'application/json'), /^its answer is JSON, but none of MCP/],
    ['no messages', plain(200, '[]', 'application/json'), /^its answer is JSON, but none of MCP/],
    [
      'an error of no request',
      plain(200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"too old"}}', 'application/json'),
      /^it answered with an error: too old$/,
    ],
    ['a reason', plain(400, '{"error":{"code":-1,"message":"no\\nway"}}', 'application/json'), /400 \(no way\): check/],
    ['OAuth’s reason', plain(401, '{"error":"x","error_description":"gone"}', 'application/json'), /401 \(gone\): /],
    ['our key in its words', (response, { key }) => response.writeHead(401).end(`bad ${String(key)}`), /\(bad \*{3}\)/],
    ['long headers', (response) => response.writeHead(200, { 'x-a': 'y'.repeat(60_000) }).end(), /headers .*too long/],
    ['no HTTP', (response) => response.socket?.end('SSH-2.0-x\r\n'), /is no HTTP .*: check its url/],
    ['a cut', (response) => response.socket?.destroy(), /^the connection was cut$/],
  ])('%s', async (_, answer, expected) => {
    const why = await problemOf(answer);
    expect(why).toMatch(expected);
    expect(why.length).toBeLessThan(300);
  });

  it('asks nobody else how to sign in', async () => {
    const other = await listening(orderly);
    const header = `Bearer resource_metadata="${other.url}/.well-known/oauth-protected-resource"`;
    const why = await problemOf((response) => response.writeHead(401, { 'www-authenticate': header }).end());
    expect(why).toMatch(/sign-in \(OAuth\), which is not offered here: .*headers\.Authorization/);
    expect(other.asked).toEqual([]);
  });

  it.each<[string, string, Record<string, string>, RegExp]>([
    ['nobody there', 'http://127.0.0.1:2/mcp', {}, /^nothing answers there: start it, or check its url$/],
    ['a host that is none', 'http://nowhere.invalid/mcp', {}, /host/],
    ['credentials', 'http://u:made-up-key-1@127.0.0.1:2/', {}, /^its url holds credentials: .*headers\.Authorization/],
    ['another protocol', 'ftp://127.0.0.1/mcp', {}, /^its url is no http or https address/],
    ['a line break in a key', 'http://127.0.0.1:2/', { KEY: 'made\nup-key-1' }, /no header "X-Api-Key"/],
    ['a key with a typed quote', 'http://127.0.0.1:2/', { KEY: 'made’up-key-1' }, /no header "X-Api-Key"/],
  ])('%s', async (_, url, env, expected) => {
    const server = client(url, {}, { KEY, ...env });
    await server.start();
    expect(server.problem).toMatch(expected);
    expect(server.problem).not.toContain('up-key-1');
  });
});
