import { type EventEmitter, getEventListeners, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { linkSignals } from '../../src/core/linked-signal.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('linkSignals', () => {
  it('aborts with the first of its sources, and with its reason', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const { signal } = linkSignals([first.signal, second.signal]);
    const reason = new Error('enough');
    second.abort(reason);
    first.abort(new Error('too late'));
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBe(reason);
  });

  it('is aborted at once when a source is', () => {
    const { signal } = linkSignals([new AbortController().signal, AbortSignal.abort('gone')], 10_000);
    expect(signal.reason).toBe('gone');
  });

  it('keeps its time, also when garbage is collected meanwhile', async () => {
    const { signal } = linkSignals([new AbortController().signal], 60);
    const waiting = once(signal as unknown as EventEmitter, 'abort');
    for (let round = 0; round < 5; round++) {
      collectGarbage();
      await delay(5);
    }
    await Promise.race([waiting, delay(2_000)]);
    expect((signal.reason as DOMException).name).toBe('TimeoutError');
  });

  it('hears a time-out of a caller who keeps no hold of it', async () => {
    const { signal } = linkSignals([AbortSignal.timeout(60)]);
    for (let round = 0; round < 5; round++) {
      collectGarbage();
      await delay(5);
    }
    await delay(100);
    expect(signal.aborted).toBe(true);
  });

  it.each([2 ** 31, 60 * 24 * 3_600_000, Number.POSITIVE_INFINITY])('does not expire early at %d ms', async (time) => {
    const { signal, unlink } = linkSignals([], time);
    await delay(20);
    expect(signal.aborted).toBe(false);
    unlink();
  });

  it('lets go of sources and timer', async () => {
    const source = new AbortController();
    const { signal, unlink } = linkSignals([source.signal], 10);
    unlink();
    source.abort();
    await delay(30);
    expect(signal.aborted).toBe(false);
  });

  it('takes any number of listeners, and so does its source', async () => {
    const warnings: string[] = [];
    const listen = (warning: Error) => void warnings.push(warning.name);
    process.on('warning', listen);
    const source = new AbortController();
    const links = Array.from({ length: 30 }, () => linkSignals([source.signal]));
    for (let count = 0; count < 30; count++) links[0]?.signal.addEventListener('abort', () => {});
    await delay(10);
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });
});

it('is one listener to a source however many are linked to it, and none once all have let go', () => {
  const source = new AbortController();
  const heard: number[] = [];
  const links = [1, 2, 3].map((number) => {
    const linked = linkSignals([source.signal, source.signal]);
    linked.signal.addEventListener('abort', () => heard.push(number));
    return linked;
  });
  expect(getEventListeners(source.signal, 'abort')).toHaveLength(1);
  links[1]?.unlink();
  source.abort(new Error('stop'));
  expect(heard).toEqual([1, 3]);
  expect(links.map(({ signal }) => signal.aborted)).toEqual([true, false, true]);
  expect(getEventListeners(source.signal, 'abort')).toHaveLength(0);
  const again = new AbortController();
  linkSignals([again.signal]).unlink();
  expect(getEventListeners(again.signal, 'abort')).toHaveLength(0);
});
