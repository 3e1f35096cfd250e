import { createInterface } from 'node:readline';
import type { Approval, ApprovalRequest } from '../../middleware/approvals.ts';
import { clipWidth, paintFor, printable, printableLine } from '../terminal.ts';

/** Longest part of a command or path in the question, in columns. */
const SUBJECT_COLUMNS = 2_000;

/** Somebody can be asked: there is a keyboard and a screen. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Asks on the terminal; `aside` makes room for the question on the screen. */
export function approver(
  aside: <T>(question: () => Promise<T>) => Promise<T>,
): (request: ApprovalRequest) => Promise<Approval> {
  return (request) => aside(() => ask(request));
}

async function ask({ session, path, tool, subject, signal }: ApprovalRequest): Promise<Approval> {
  const paint = paintFor(process.stderr);
  const who = path.length === 0 ? 'The agent' : `${path.map(printableLine).join(' › ')} (${session})`;
  const what = subject === '' ? tool : `${tool}: ${clipWidth(printable(subject), SUBJECT_COLUMNS)}`;
  for (;;) {
    process.stderr.write(`${who} wants to use ${paint('bold', what)}\n`);
    const answer = await readLine('Allow? [y]es, [n]o, [a]lways this one: ', signal);
    if (answer === undefined) return 'no';
    switch (answer.trim().toLowerCase()) {
      case 'y':
      case 'yes':
        return 'once';
      case 'a':
      case 'always':
        return 'always';
      case 'n':
      case 'no':
        return 'no';
    }
  }
}

/** A line of the keyboard; nothing at the end of input or when the turn is stopped. */
export function readLine(question: string, signal?: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    process.stderr.write(question);
    // Not as a terminal: Ctrl-C then stays a signal of the process.
    const lines = createInterface({ input: process.stdin, terminal: false });
    const finish = (line: string | undefined) => {
      lines.off('close', stop);
      signal?.removeEventListener('abort', stop);
      lines.close();
      process.stdin.pause();
      resolve(line);
    };
    const stop = () => {
      process.stderr.write('\n');
      finish(undefined);
    };
    signal?.addEventListener('abort', stop, { once: true });
    lines.once('line', finish);
    lines.once('close', stop);
  });
}
