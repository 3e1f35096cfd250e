import { readFileSync } from 'node:fs';
import { messageOf } from '../core/errors.ts';

/** The object in a JSON file of another product; empty, and a problem, when there is none. */
export function readManifest(file: string, problems: string[]): Record<string, unknown> {
  try {
    const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
    const value = recordOf(JSON.parse(text) as unknown);
    if (value !== undefined) return value;
    problems.push('holds no object');
  } catch (error) {
    problems.push(`cannot be read: ${messageOf(error)}`);
  }
  return {};
}

export const recordOf = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;

/** One text or a list of them. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}
