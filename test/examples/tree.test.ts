import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/core/events.ts';
import { packageRoot } from '../../src/core/prompts.ts';
import { noUsage } from '../../src/core/usage.ts';

interface Tree {
  root(session: string): void;
  observe(seen: { kind: 'event'; session: string; event: unknown }): void;
}
const module = pathToFileURL(join(packageRoot, 'examples', 'research', 'tree.js')).href;
const { LiveTree } = (await import(module)) as {
  LiveTree: new (stream: unknown, options: { env: Record<string, string> }) => Tree;
};

/** What a run of a parent with one child writes to a stream. */
function written(stream: { isTTY?: boolean; columns?: number }, env: Record<string, string> = {}): string[] {
  const writes: string[] = [];
  const tree = new LiveTree({ ...stream, write: (text: string) => writes.push(text) }, { env });
  const happen = (session: string, event: Partial<SessionEvent>) => tree.observe({ kind: 'event', session, event });
  tree.root('s_1');
  happen('s_1', { type: 'user.message', origin: 'user', content: 'Go on\nwith it' });
  happen('sa_2', {
    type: 'session.started',
    session: 'sa_2',
    parent: { session: 's_1', call: 'c' },
    skill: { name: 'research', hash: '', path: '' },
  });
  happen('sa_2', {
    type: 'assistant.message',
    toolCalls: [{ id: 'c', name: 'grep', arguments: '{}' }],
    usage: { ...noUsage(), input: 40, output: 2 },
  });
  happen('sa_2', { type: 'turn.ended', status: 'completed', answer: 'x' });
  happen('s_1', { type: 'turn.ended', status: 'failed', answer: '' });
  happen('s_elsewhere', { type: 'turn.ended', status: 'failed', answer: '' });
  return writes;
}

describe('the tree of the research example', () => {
  it('is a line an event on a pipe', () => {
    expect(written({})).toEqual([
      's_1  agent  user: Go on\n',
      '  sa_2  research  step 1: grep\n',
      '  sa_2  research  completed after 1 steps, 42 tokens\n',
      's_1  agent  failed after 0 steps, 0 tokens\n',
    ]);
  });

  it('is drawn in place on a terminal, in colours', () => {
    const writes = written({ isTTY: true, columns: 80 });
    expect(writes[1]).toBe(
      '\x1b[1A\x1b[2K\x1b[36m◐ agent  s_1  starting  0 tokens\x1b[0m\n\x1b[2K\x1b[36m└─ ◐ research  sa_2  grep  42 tokens\x1b[0m\n',
    );
    expect(writes.at(-1)).toBe(
      '\x1b[2A\x1b[2K\x1b[31m○ agent  s_1  failed  0 tokens\x1b[0m\n\x1b[2K└─ ● research  sa_2  completed  42 tokens\n',
    );
  });

  it('has no colours with NO_COLOR, and is not drawn in place on a terminal that cannot', () => {
    expect(written({ isTTY: true, columns: 80 }, { NO_COLOR: '1' }).join('')).not.toMatch(/\x1b\[\d\dm/);
    expect(written({ isTTY: true, columns: 80 }, { TERM: 'dumb' })).toEqual(written({}));
  });

  it('never wraps a line', () => {
    const lines = written({ isTTY: true, columns: 20 }, { NO_COLOR: '1' })
      .join('')
      .replace(/\x1b\[\d+[AK]/g, '')
      .split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBe(19);
  });
});
