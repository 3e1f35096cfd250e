import { settings } from './settings.js';

const waiting = [];
let inUse = 0;

/** Hands out a connection, or fails once the time to wait is over. */
export function acquire() {
  const { size, acquire_timeout_ms: limit } = settings.database.pool;
  if (inUse < size) {
    inUse += 1;
    return Promise.resolve(connect());
  }
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`pool exhausted size=${size} waited_ms=${limit}`)), limit);
    waiting.push({ resolve, timer });
  });
}
