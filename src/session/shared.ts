/** Different values that are kept; the least recently seen goes first. */
const MOST = 64;

const known = new Map<string, unknown>();

/**
 * The first of equal values, which must be JSON and never change. Sessions mostly have the same tools
 * and the same prompt: those that are open share them instead of keeping a copy each.
 */
export function shared<T>(value: T): T {
  const key = JSON.stringify(value);
  const first = (known.get(key) ?? value) as T;
  known.delete(key);
  known.set(key, first);
  if (known.size > MOST) known.delete(known.keys().next().value ?? '');
  return first;
}
