import { describe, expect, it } from 'vitest';
import { serving } from './serving.ts';

describe('pages', () => {
  it('list sessions and show one with its tree; what models and people wrote is text', async () => {
    const evil = '<script>alert(1)</script>';
    const { served, start, until, shop } = await serving(({ skill, messages }) =>
      skill === 'dig' || messages.at(-1)?.role === 'tool'
        ? evil
        : { calls: [{ name: 'run_skill', arguments: { name: 'dig', arguments: evil } }] },
    );
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const page = async (path: string) => {
      const response = await fetch(`${served.address}${path}`, {
        headers: { authorization: `Bearer ${served.token}` },
      });
      return { status: response.status, text: await response.text(), headers: response.headers };
    };
    expect((await page('/')).text).toContain('No sessions yet');
    const session = await start(evil);
    await until(session, 'completed');
    const list = await page('/');
    expect(list.text).toContain(`<a href="/sessions/${session}">&lt;script&gt;`);
    const shown = await page(`/sessions/${session}`);
    expect(shown.text).toContain(
      `<li><a href="/sessions/${session}">${session}</a> <strong class="completed">completed</strong>`,
    );
    const [, child] = /<ul><li><a href="\/sessions\/(sa_[0-9a-z]+)">dig /.exec(shown.text) ?? [];
    expect(shown.text).toContain(`<a href="/sessions/${child}">${child}</a>)`);
    expect(shown.text).toMatch(
      new RegExp(`<script src="/follow.js" data-session="${session}" data-from="\\d+"></script>`),
    );
    for (const { text, headers } of [list, shown]) {
      expect(text).not.toContain('<script>alert');
      expect(headers.get('content-security-policy')).toContain("script-src 'self'");
      expect(text).not.toMatch(/https?:\/\//);
    }
    expect((await page(`/sessions/${child}`)).text).toContain(`of <a href="/sessions/${session}">`);
    expect(await page('/sessions/s_none')).toMatchObject({ status: 404, text: 'there is no such session\n' });
    const script = await page('/follow.js');
    expect(script.headers.get('content-type')).toContain('text/javascript');
    expect(() => new Function(script.text)).not.toThrow();
  });

  it('says that there are no queues where turns run in this process', async () => {
    const { served } = await serving(() => 'x');
    const response = await fetch(`${served.address}/queues`, { headers: { authorization: `Bearer ${served.token}` } });
    expect([response.status, await response.text()]).toEqual([
      404,
      'there are no queues: turns run in this process\nset engine.url\n',
    ]);
  });
});
