import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/index.ts';

const make = (name: string, input: z.ZodType = z.object({})) =>
  defineTool({ name, description: 'd', input, effects: 'read', execute: async () => 'done' });

describe('a tool that providers would refuse, and the whole request with it,', () => {
  it.each(['', 'my tool', 'docs.search', 'größe', 'x'.repeat(65)])('is not made: the name %j', (name) => {
    expect(() => make(name)).toThrow(/use 1 to 64 letters, digits, _ and -/);
  });

  it.each([z.string(), z.array(z.string()), z.unknown(), z.union([z.object({ a: z.string() }), z.object({})])])(
    'is not made: an input that is no object, %#',
    (input) => {
      expect(() => make('clock', input)).toThrow('the input of the tool clock is no object');
    },
  );

  it.each(['$filter', 'user id', '', 'x'.repeat(65)])('is not made: the argument %j', (name) => {
    expect(() => make('clock', z.object({ [name]: z.string() }))).toThrow('the tool clock has an argument');
  });

  it.each(['clock', 'mcp__docs__search-all', 'x'.repeat(64)])('is none with the name %s', (name) => {
    expect(make(name, z.record(z.string(), z.string())).name).toBe(name);
  });
});
