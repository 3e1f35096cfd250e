import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Watch } from '../../src/models/watched-fetch.ts';
import { never } from './requests.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const silentAfter = (watch: Watch, milliseconds: number): string | undefined => {
  vi.advanceTimersByTime(milliseconds - 1);
  expect(watch.silent).toBeUndefined();
  vi.advanceTimersByTime(1);
  return watch.silent?.message;
};

it('gives a stream up that is silent, counted from what arrived last', () => {
  const watch = new Watch(never, { idle: 60_000 });
  vi.advanceTimersByTime(59_000);
  watch.touch();
  expect(silentAfter(watch, 60_000)).toBe('nothing arrived for 60 s');
  expect(watch.signal.aborted).toBe(true);
});

it('waits ten seconds for the end of an answer that is there, and as long as ever for the next of a turn', () => {
  const watch = new Watch(never, { idle: 60_000 });
  watch.expectEnd();
  watch.touch();
  expect(silentAfter(watch, 10_000)).toBe('nothing arrived for 10 s');
  const early = new Watch(never, { idle: 60_000 });
  early.expectEnd();
  early.expectMore();
  expect(silentAfter(early, 60_000)).toBe('nothing arrived for 60 s');
  const other = new Watch(never, { idle: 60_000, beginning: 90_000 });
  other.expectEnd();
  other.begin();
  expect(silentAfter(other, 90_000)).toBe('nothing arrived for 90 s');
});

it('waits for nothing when it has ended', () => {
  const watch = new Watch(never, { idle: 60_000 });
  watch.end();
  watch.touch();
  expect(vi.getTimerCount()).toBe(0);
});
