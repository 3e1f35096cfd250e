import type { ModelRequest } from './contract.ts';

const frozen = new WeakMap<object, object>();

/**
 * A deep, frozen copy of a request. Parts that were copied before are shared: a thread hands the same
 * message objects over step after step, and a long session must not be copied whole for each.
 */
export function snapshot(request: ModelRequest): ModelRequest {
  return Object.freeze({
    ...request,
    tools: copy(request.tools),
    messages: Object.freeze(request.messages.map(copy)) as ModelRequest['messages'],
  });
}

function copy<T extends object>(value: T): T {
  const known = frozen.get(value);
  if (known) return known as T;
  const made = deepFreeze(structuredClone(value));
  frozen.set(value, made);
  return made;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
