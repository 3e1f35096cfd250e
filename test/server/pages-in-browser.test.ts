import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bullmqEngine } from '../../src/engines/bullmq.ts';
import type { ScriptedFunction } from '../../src/models/scripted.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { hasBrowser, startBrowser, type WatchedOptions, watchedPage } from '../helpers/browser.ts';
import { hasRedis, startRedis } from '../helpers/redis.ts';
import { workshop } from '../runtime/workshop.ts';
import { type Serving, serving } from './serving.ts';

/** Markup, the end of a field, text turned around without an end, a word that fits nowhere. */
const HOSTILE = `<script>document.title='taken'</script><img src=x onerror=alert(1)></textarea>\u202Edrawkcab ${'w'.repeat(400)}`;

const textOf = (message: object | undefined): string => (message as { content?: string } | undefined)?.content ?? '';

/** A gate that a scripted model waits at. */
function gate(): { wait: Promise<void>; open(): void } {
  let open = () => {};
  const wait = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { wait, open };
}

describe.skipIf(!hasBrowser())('pages in a browser', { timeout: 120_000 }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  }, 120_000);
  afterAll(() => browser?.close());

  async function open({ served }: Serving, path = '/', options?: WatchedOptions): Promise<Page> {
    const page = await watchedPage(browser, new URL(served.address).host, options);
    await page.goto(`${served.address}${path}?token=${served.token}`);
    expect(page.url()).toBe(`${served.address}${path}`);
    return page;
  }

  const state = (page: Page) => page.locator('#tree strong').first();
  const inState = (page: Page, name: string) => state(page).filter({ hasText: name }).waitFor();
  const widthOf = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth');

  it('a task is given and followed without a reload, with the log of its sub-agent, and gone on with', async () => {
    const [childMayEnd, childIsSeen] = [gate(), gate()];
    const server = await serving(async ({ skill, messages }) => {
      const last = textOf(messages.at(-1));
      if (skill === 'dig') {
        childIsSeen.open();
        await childMayEnd.wait;
        return 'a nugget';
      }
      if (messages.at(-1)?.role === 'tool') return 'gold was found';
      if (last === 'more') return 'there is no more';
      return { calls: [{ name: 'run_skill', arguments: { name: 'dig', arguments: 'in the garden' } }] };
    });
    server.shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const page = await open(server);
    await page.getByText('No sessions yet').waitFor();
    await page.getByLabel('New task').fill('dig for gold');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('heading', { name: 'dig for gold' }).waitFor();
    await page.evaluate("window.isSamePage = true; document.title = 'mine'");
    await childIsSeen.wait;
    await inState(page, 'running');
    await page.getByText('calls run_skill').waitFor();
    expect(await page.getByRole('button').allTextContents()).toEqual(['Cancel']);

    const child = await page.context().newPage();
    const link = page.locator('#tree ul a');
    await link.waitFor();
    await child.goto(`${server.served.address}${await link.getAttribute('href')}`);
    await child.locator('article pre', { hasText: 'in the garden' }).waitFor();
    await inState(child, 'running');
    childMayEnd.open();
    await child.getByText('a nugget').waitFor();
    await inState(child, 'completed');
    expect(await child.getByRole('button').count()).toBe(0);
    await child.locator('p a', { hasText: /^s_/ }).click();
    await child.getByRole('heading', { name: 'dig for gold' }).waitFor();

    await page.getByText('gold was found').waitFor();
    await inState(page, 'completed');
    await page.locator('#tree ul strong.completed').waitFor();
    await page.getByLabel('Message').fill('more');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('there is no more').waitFor();
    expect(await page.getByLabel('Message').inputValue()).toBe('');
    expect(await page.evaluate('window.isSamePage')).toBe(true);
    expect(await page.getByText('gold was found').count()).toBe(1);
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.locator('tr', { hasText: 'dig for gold' }).getByText('completed').waitFor();
    expect(server.problems).toEqual([]);
  });

  it('a turn is cancelled, and a page that is opened or loaded again in the middle of one goes on', async () => {
    const server = await serving(({ messages }) =>
      textOf(messages.at(-1)) === 'slow' ? { text: 'late', latency: 600_000 } : 'soon',
    );
    const session = await server.start('slow');
    const page = await open(server, `/sessions/${session}`, { expected: /status of 404/ });
    await inState(page, 'running');
    await page.reload();
    await inState(page, 'running');
    await page.getByRole('button', { name: 'Cancel' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('turn cancelled').waitFor();
    const send = page.getByRole('button', { name: 'Send' });
    await send.waitFor();
    await inState(page, 'cancelled');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Send');
    // What is refused is told, and stays written.
    await server.runtime.store.delete(session);
    await page.getByLabel('Message').fill('too late');
    await send.click();
    await page.getByText('there is no session').waitFor();
    expect(await page.getByLabel('Message').inputValue()).toBe('too late');
  });

  it('what people, models and tools wrote is text, and fits on a small screen', async () => {
    const server = await serving(({ skill, messages }) =>
      skill === 'dig' || messages.at(-1)?.role === 'tool'
        ? HOSTILE
        : { calls: [{ name: 'run_skill', arguments: { name: 'dig', arguments: HOSTILE } }] },
    );
    server.shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const session = await server.start(HOSTILE);
    await server.until(session, 'completed');
    const page = await open(server, '/', { width: 360 });
    await page.getByText("document.title='taken'").waitFor();
    expect([await widthOf(page), await page.locator('img').count(), await page.title()]).toEqual([360, 0, 'Sessions']);
    await page.locator('td a').click();
    await inState(page, 'completed');
    await page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })");
    expect(await widthOf(page)).toBe(360);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('section.user pre').textContent()).toBe(HOSTILE);
    expect(await page.locator('section.assistant pre').last().textContent()).toBe(HOSTILE);
    expect(await page.title()).toContain('<script>');
    // The same text again, over the page that is followed.
    await page.getByLabel('Message').fill(HOSTILE);
    await page.getByLabel('Message').press('Control+Enter');
    await page.locator('section.user').nth(1).waitFor();
    expect(await page.locator('section.user pre').nth(1).textContent()).toBe(HOSTILE);
    expect(await page.locator('img').count()).toBe(0);
    await page.goto(`${server.served.address}/`);
    expect(await widthOf(page)).toBe(360);
  });

  it('everything is reached by keyboard alone', async () => {
    const server = await serving(() => 'done');
    const page = await open(server, '/', { width: 360 });
    const tabTo = async (name: string) => {
      for (let presses = 0; presses < 12; presses++) {
        await page.keyboard.press('Tab');
        const text = await page.evaluate<string>(
          "document.activeElement.labels?.[0]?.textContent || document.activeElement.textContent || ''",
        );
        if (text.startsWith(name)) return;
      }
      throw new Error(`${name} is not reached`);
    };
    await tabTo('New task');
    await page.keyboard.type('by hand');
    await tabTo('Start');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'by hand' }).waitFor();
    await page.getByText('done').waitFor();
    await tabTo('Message');
    await page.keyboard.type('again');
    await page.keyboard.press('Control+Enter');
    await page.locator('section.user').nth(1).waitFor();
    await page.reload();
    await tabTo('Sessions');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${server.served.address}/`);
    await tabTo('by hand');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/sessions\/s_/);
  });

  it('a page finds a server that was started again, and says so when it cannot', async () => {
    const token = 'the-token-stays-the-same';
    const shop = workshop();
    const model: ScriptedFunction = ({ messages }) => `answer to ${textOf(messages.at(-1))}`;
    const first = await serving(model, { shop, token });
    const session = await first.start('one');
    await first.until(session, 'completed');
    const expected = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY|status of 401/;
    const page = await open(first, `/sessions/${session}`, { expected });
    await page.getByText('answer to one').waitFor();
    await first.served.close(0);
    await page.getByText('The server cannot be reached; trying again.').waitFor();
    await page.getByLabel('Message').fill('lost');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('nothing was sent').waitFor();
    const port = Number(new URL(first.served.address).port);
    const stranger = await serving(model, { shop, port, token: 'the-token-is-another-one' });
    await page.getByText('The server has another token now').waitFor();
    await stranger.served.close(0);
    const second = await serving(model, { shop, port, token });
    expect((await second.post(`/sessions/${session}/messages`, { text: 'two' })).status).toBe(202);
    await page.getByText('answer to two').waitFor();
    expect(await page.locator('#connection').textContent()).toBe('');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('answer to lost').waitFor();
    expect(await page.locator('section.user').count()).toBe(3);
  });

  it('a page that nobody sees holds no connection', async () => {
    const server = await serving(() => 'done');
    const session = await server.start('one');
    await server.until(session, 'completed');
    const page = await open(server, `/sessions/${session}`);
    await page.waitForResponse((response) => response.url().includes('/events'));
    const left = page.waitForEvent('requestfailed', (request) => request.url().includes('/events'));
    const turn = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await turn(true);
    await left;
    await server.post(`/sessions/${session}/messages`, { text: 'two' });
    await server.until(session, 'completed');
    expect(await page.locator('section.user').count()).toBe(1);
    await turn(false);
    await page.locator('section.user').nth(1).waitFor();
  });

  it.skipIf(!hasRedis())('the dashboard of the queues keeps its policy', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const engine = bullmqEngine({ url: redis.url, onProblem: () => {} });
    onTestFinished(() => engine.close());
    const overrides = [`engine.url=${redis.url}`];
    const server = await serving(() => 'x', { opened: { store: memoryStore(), engine, overrides } });
    await server.start('queued');
    const page = await open(server);
    await page.getByRole('link', { name: 'Queues' }).click();
    await page
      .getByText(/waiting/i)
      .first()
      .waitFor();
  });
});
