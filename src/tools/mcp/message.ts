import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isObject } from '../../core/is-object.ts';

/** Longest message of a server, in bytes: what is longer is taken for a flood. */
export const LONGEST_MESSAGE = 16 * 1024 * 1024;

export const TOO_LONG = `the server sent a message of more than ${LONGEST_MESSAGE} bytes`;

/** What the SDK would ignore, so that its call waits to its end, is an error. */
export const INTERNAL_ERROR = -32603;

/** A message, whose fields the SDK checks when it takes it. */
export function messageIn(line: string): JSONRPCMessage | undefined {
  return messageOfValue(jsonIn(line));
}

/** What a text is as JSON; `undefined` when it is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function messageOfValue(value: unknown): JSONRPCMessage | undefined {
  if (!isObject(value) || value.jsonrpc !== '2.0') return undefined;
  const { id, method, result, error } = value;
  const isAnswer = id !== undefined && method === undefined;
  if (!isAnswer || isObject(result) || isErrorObject(error)) return value as unknown as JSONRPCMessage;
  const message = error === undefined ? 'its answer holds no result' : `its answer is ${JSON.stringify(error)}`;
  return { jsonrpc: '2.0', id: id as string | number, error: { code: INTERNAL_ERROR, message } };
}

export const isErrorObject = (value: unknown): value is { code: number; message: string } =>
  isObject(value) && Number.isInteger(value.code) && typeof value.message === 'string';
