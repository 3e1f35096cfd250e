import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../src/tools/public-address.ts';
import { type WebFetchOptions, webFetchTool } from '../../src/tools/web-fetch.ts';
import { call } from './tool-call.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let port: number;
let asked: string[];
let routes: Record<string, Handler>;

beforeEach(async () => {
  asked = [];
  routes = {};
  server = createServer((request, response) => {
    asked.push(`${request.headers.host}${request.url}`);
    const route = routes[request.url ?? ''];
    if (route) route(request, response);
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const fetchPage = (url: string, options: WebFetchOptions = {}, signal?: AbortSignal) =>
  call(webFetchTool({ allowPrivate: ['127.0.0.1'], ...options }), { url }, signal ? { signal } : {});
const page = (path: string) => fetchPage(`http://127.0.0.1:${port}${path}`);
const serve = (
  path: string,
  type: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
  status = 200,
) => {
  routes[path] = (_, response) => response.writeHead(status, { 'content-type': type, ...headers }).end(body);
};

describe('what comes back', () => {
  it('turns a page into text', async () => {
    serve(
      '/',
      'text/html; charset=utf-8',
      '<title>Hi &amp; ho</title><h1>Head</h1><p>One <b>two</b></p><script>no()</script>',
    );
    expect(await page('/')).toEqual({
      content: `[http://127.0.0.1:${port}/; status 200; text/html]\nTitle: Hi & ho\n\n# Head\n\nOne two`,
      isError: false,
    });
  });

  it('leaves other text as it is', async () => {
    serve('/a.json', 'application/json', '{"a": 1}');
    expect((await page('/a.json')).content).toMatch(/application\/json\]\n\{"a": 1\}$/);
  });

  it.each([
    ['gzip', gzipSync('packed é')],
    ['br', brotliCompressSync('packed é')],
  ])('unpacks %s', async (encoding, body) => {
    serve('/z', 'text/plain', body, { 'content-encoding': encoding });
    expect((await page('/z')).content).toContain('packed é');
  });

  it.each([
    ['header', 'text/plain; charset=iso-8859-1', Buffer.from('gr\xfcn', 'latin1'), 'grün'],
    ['page', 'text/html', Buffer.concat([Buffer.from('<meta charset="gbk"><p>'), Buffer.from([0xc4, 0xe3])]), '你'],
    ['nonsense', 'text/plain; charset=klingon', Buffer.from('grün'), 'grün'],
  ])('decodes by the %s', async (_, type, body, text) => {
    serve('/c', type, body);
    expect((await page('/c')).content).toContain(text);
  });

  it('is honest about errors, other types and empty answers', async () => {
    serve('/bad', 'text/plain', 'broken', {}, 500);
    serve('/pic', 'image/png', Buffer.from([1, 2, 3]));
    serve('/none', 'text/plain', '');
    expect(await page('/bad')).toEqual({
      content: `[http://127.0.0.1:${port}/bad; status 500; text/plain]\nbroken`,
      isError: true,
    });
    expect((await page('/missing')).content).toContain('status 404');
    expect(await page('/pic')).toMatchObject({
      isError: true,
      content: expect.stringContaining('3 bytes that are no text'),
    });
    expect(await page('/none')).toMatchObject({ isError: false, content: expect.stringContaining('empty') });
  });

  it('cuts what is too large, after unpacking', async () => {
    serve('/bomb', 'text/plain', gzipSync(Buffer.alloc(50_000_000, 'x')), { 'content-encoding': 'gzip' });
    const { content } = await fetchPage(`http://127.0.0.1:${port}/bomb`, { maxBytes: 1_000 });
    expect(content).toContain('cut after 1000 bytes');
    expect(content.length).toBeLessThan(1_200);
  });

  it('says when a body ends too early', async () => {
    routes['/cut'] = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' }).write('part');
      setImmediate(() => response.destroy());
    };
    expect(await page('/cut')).toMatchObject({
      isError: true,
      content: expect.stringContaining('could not be fetched'),
    });
  });
});

describe('limits', () => {
  it('gives up on a page that drips', async () => {
    let drip: NodeJS.Timeout | undefined;
    routes['/slow'] = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      drip = setInterval(() => response.write('.'), 20);
    };
    const answer = await fetchPage(`http://127.0.0.1:${port}/slow`, { timeout: 300 });
    clearInterval(drip);
    expect(answer).toMatchObject({ isError: true, content: expect.stringContaining('within 0.3 s') });
  });

  it('stops when aborted, and closes the connection', async () => {
    const stop = new AbortController();
    const closed = new Promise<void>((resolve) => {
      routes['/hang'] = (request) => {
        request.socket.once('close', () => resolve());
        stop.abort(new Error('enough'));
      };
    });
    expect(await fetchPage(`http://127.0.0.1:${port}/hang`, {}, stop.signal)).toEqual({
      content: 'enough',
      isError: true,
    });
    await closed;
  });

  it('gives up on a name server that does not answer', async () => {
    const resolve = () => new Promise<never>(() => {});
    const answer = await fetchPage('http://slow.test/', { resolve, timeout: 200 });
    expect(answer.content).toContain('within 0.2 s');
  });

  it('follows five redirects, relative ones too, and no more', async () => {
    for (let hop = 0; hop < 9; hop++) serve(`/r${hop}`, 'text/plain', '', { location: `r${hop + 1}` }, 302);
    serve('/r5', 'text/plain', 'arrived');
    expect((await page('/r0')).content).toContain(`[http://127.0.0.1:${port}/r5; status 200`);
    serve('/r5', 'text/plain', '', { location: '/r6' }, 301);
    expect((await page('/r0')).content).toContain('redirects more than 5 times');
  });
});

describe('addresses', () => {
  it.each([
    'http://127.0.0.1:1/',
    'http://localhost/',
    'http://[::1]/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:127.0.0.1]/',
    'http://[fe80::1]/',
    'http://192.168.1.1./',
  ])('refuses %s', async (url) => {
    const answer = await fetchPage(url, { allowPrivate: false });
    expect(answer).toMatchObject({ isError: true, content: expect.stringContaining('not on the public internet') });
  });

  it('refuses a private address behind a redirect, without asking it', async () => {
    serve('/go', 'text/plain', '', { location: `http://127.0.0.2:${port}/inside` }, 302);
    const answer = await page('/go');
    expect(answer).toMatchObject({ isError: true, content: expect.stringContaining('127.0.0.2 is not on the public') });
    expect(asked).toEqual([`127.0.0.1:${port}/go`]);
  });

  it.each([
    'file:///etc/passwd',
    'ftp://x/',
    'javascript:1',
    'data:text/plain,x',
    'nonsense',
    'http://me:pw@example.com/',
  ])('refuses %s, by redirect too', async (url) => {
    serve('/go', 'text/plain', '', { location: url }, 302);
    expect((await fetchPage(url)).isError).toBe(true);
    if (url !== 'nonsense') expect((await page('/go')).content).toMatch(/Only http|user name/);
  });

  it('refuses a public name that leads to a private address, even as one of several', async () => {
    const resolve = async () => [
      { address: '93.184.216.34', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ];
    const answer = await fetchPage(`http://rebind.test:${port}/`, { resolve, allowPrivate: false });
    expect(answer.content).toContain('rebind.test is not on the public internet');
    expect(asked).toEqual([]);
  });

  it('connects to the address that was checked, whatever the name says later', async () => {
    serve('/', 'text/plain', 'pinned');
    let lookups = 0;
    const resolve = async () => {
      lookups++;
      return [{ address: '127.0.0.1', family: 4 }];
    };
    const answer = await fetchPage(`http://name.test:${port}/`, { resolve, allowPrivate: [`name.test:${port}`] });
    expect(answer.content).toContain('pinned');
    expect(asked).toEqual([`name.test:${port}/`]);
    expect(lookups).toBe(1);
  });

  it('says what was not found or does not answer', async () => {
    const resolve = async () => {
      throw new Error('ENOTFOUND');
    };
    expect((await fetchPage('http://nowhere.test/', { resolve })).content).toContain('host nowhere.test was not found');
    expect((await fetchPage('http://127.0.0.1:1/')).content).toContain('nothing answers there');
  });

  it('asks before a redirect is followed', async () => {
    serve('/go', 'text/plain', '', { location: '/next' }, 302);
    const onRedirect = (url: URL) => {
      throw new Error(`not to ${url.pathname}`);
    };
    expect((await fetchPage(`http://127.0.0.1:${port}/go`, { onRedirect })).content).toBe('not to /next');
  });

  it('tells public addresses from others', () => {
    for (const address of ['8.8.8.8', '1.1.1.1', '93.184.216.34', '2606:4700::1111', '2a00:1450:4001::1']) {
      expect(isPublicAddress(address), address).toBe(true);
    }
    for (const address of [
      '100.64.0.1',
      '198.18.0.1',
      '224.0.0.1',
      '255.255.255.255',
      '::',
      'fd00::1',
      'ff02::1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
      '',
      'x',
      'fe80::1%eth0',
    ]) {
      expect(isPublicAddress(address), address).toBe(false);
    }
    fc.assert(
      fc.property(fc.constantFrom(10, 127, 0, 224, 250), fc.nat(255), fc.nat(255), (first, second, third) => {
        expect(isPublicAddress(`${first}.${second}.${third}.1`)).toBe(false);
        expect(isPublicAddress(`::ffff:${first}.${second}.${third}.1`)).toBe(false);
      }),
    );
  });
});
