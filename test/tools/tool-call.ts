import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { messageOf } from '../../src/core/errors.ts';
import type { Tool, ToolContext } from '../../src/tools/define-tool.ts';

/** A folder that is gone after the test, by its real path. */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'reasonix-tools-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export interface Answer {
  content: string;
  isError: boolean;
}

/** Calls a tool as the engine does: by JSON text, a thrown problem being the answer. */
export async function call<Input>(
  tool: Tool<Input>,
  input: unknown,
  { signal = new AbortController().signal, progress = () => {} }: Partial<ToolContext> = {},
): Promise<Answer> {
  const parsed = tool.parse(JSON.stringify(input));
  if (!parsed.ok) return { content: parsed.problem, isError: true };
  const context = { session: 's_test', call: 'call_test', cwd: '/', signal, recovering: false, progress };
  try {
    const outcome = await tool.execute(parsed.input, context);
    return typeof outcome === 'string'
      ? { content: outcome, isError: false }
      : { content: outcome.content, isError: outcome.isError ?? false };
  } catch (error) {
    return { content: messageOf(error), isError: true };
  }
}
