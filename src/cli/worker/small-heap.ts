import { setFlagsFromString } from 'node:v8';

/** Settings of Node that whoever starts a worker may have for its heap. */
const HEAP_SETTING = /--(?:(?:max|min)[-_]semi[-_]space[-_]size|semi[-_]space[-_]growth|heap[-_]growing)/;

/**
 * Has V8 collect garbage early. Left alone it lets the heap grow to four times what is alive, and the young
 * part of it to 32 MB: a worker that mostly waits keeps that for minutes, and never needs it. From the start
 * of a process on: what has grown does not shrink. A process that was started with settings of its own for
 * its heap keeps them.
 */
export function keepHeapSmall(): void {
  if (HEAP_SETTING.test([...process.execArgv, process.env.NODE_OPTIONS].join(' '))) return;
  // The young part stays as large as it begins, 1 MB and its copy; the old one is cleared when it has grown by half.
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=50');
}
