import { readFile } from 'node:fs/promises';
import { packageRoot } from '../../core/prompts.ts';
import type { Handler } from '../command.ts';
import type { mcpFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { note } from '../output.ts';
import { Interrupt } from '../run/interrupt.ts';
import { openRun } from '../run/open-run.ts';
import { noteProblem, withStore } from '../session/open-store.ts';
import { paintFor, printableLine } from '../terminal.ts';

export const mcp: Handler<typeof mcpFlags> = ({ flags }) =>
  withStore(flags, async (store, { folders: { cwd } }) => {
    const { serveMcp } = await import('../../mcp/serve.ts');
    const { version } = JSON.parse(await readFile(`${packageRoot}/package.json`, 'utf8')) as { version: string };
    if (process.stdin.isTTY) {
      const paint = paintFor(process.stderr);
      note(paint('dim', `an MCP client starts this; it speaks JSON-RPC for ${printableLine(cwd)}. Ctrl-D leaves`));
    }
    const interrupt = new Interrupt(() => note('stopping'));
    try {
      await serveMcp({
        version,
        cwd,
        open: (approve) => openRun(flags, { store, target: { kind: 'new' }, approve }),
        input: process.stdin,
        output: process.stdout,
        signal: interrupt.signal,
        onProblem: noteProblem,
      });
    } finally {
      interrupt.close();
    }
    return interrupt.signal.aborted ? EXIT.cancelled : EXIT.done;
  });
