import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { findProgram } from './postgres.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const ELSEWHERE = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

const program =
  process.env.CHROMIUM_PATH ??
  NAMES.map((name) => findProgram(name)).find((path) => path !== undefined) ??
  ELSEWHERE.find((path) => existsSync(path));

/** Whether tests in a browser can run; says so once a file when they cannot. */
export function hasBrowser(): boolean {
  if (program === undefined) console.warn('there is no Chromium (CHROMIUM_PATH): the tests in a browser are left out');
  return program !== undefined;
}

/** A Chromium that asks nobody for anything of its own. */
export function startBrowser(): Promise<Browser> {
  if (program === undefined) throw new Error('there is no Chromium');
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'];
  return chromium.launch({
    executablePath: program,
    args: [...args, '--disable-background-networking', '--disable-component-update'],
    timeout: 120_000,
  });
}

export interface WatchedOptions {
  /** Width of the window in pixels. Default 1280. */
  width?: number;
  /** Errors in the console that belong to the test. */
  expected?: RegExp;
}

/**
 * A page of a profile of its own, closed after the test, which fails when the page had an error, a request to
 * another host, or one that its policy forbids.
 */
export async function watchedPage(browser: Browser, host: string, options: WatchedOptions = {}): Promise<Page> {
  const { width = 1280, expected } = options;
  const context = await browser.newContext({ viewport: { width, height: 800 } });
  context.setDefaultTimeout(45_000);
  const wrong: string[] = [];
  context.on('console', (message) => {
    if (message.type() === 'error' && !expected?.test(message.text())) wrong.push(message.text());
  });
  context.on('weberror', (error) => wrong.push(String(error.error())));
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'data:' && url.host !== host) wrong.push(`a request to ${request.url()}`);
  });
  onTestFinished(async () => {
    await context.close();
    expect(wrong).toEqual([]);
  });
  return context.newPage();
}
