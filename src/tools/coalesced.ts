/**
 * A function that passes the first of a storm of values on at once, and after that no more than the newest
 * one every `pause` milliseconds. What would come after `stop` is dropped.
 */
export function coalesced<T>(show: (value: T) => void, pause: number): { show(value: T): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let newest: { value: T } | undefined;
  const wait = (): void => {
    timer = setTimeout(() => {
      timer = undefined;
      if (!newest) return;
      show(newest.value);
      newest = undefined;
      wait();
    }, pause);
    timer.unref();
  };
  return {
    show: (value) => {
      if (timer) {
        newest = { value };
        return;
      }
      wait();
      show(value);
    },
    stop: () => {
      clearTimeout(timer);
      newest = undefined;
    },
  };
}
