import { createInterface } from 'node:readline';
import type { Approval, ApprovalRequest } from '../../middleware/permissions.ts';
import { clipWidth, paintFor, printable } from '../terminal.ts';

/** Longest part of a command or path in the question, in columns. */
const SUBJECT_COLUMNS = 2_000;

/** Somebody can be asked: there is a keyboard and a screen. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Asks on the terminal, one question at a time, however many children want something. */
export function approver(
  aside: <T>(question: () => Promise<T>) => Promise<T>,
): (request: ApprovalRequest) => Promise<Approval> {
  let last: Promise<unknown> = Promise.resolve();
  return (request) => {
    const answer = last.then(() => (request.signal.aborted ? 'no' : aside(() => ask(request))));
    last = answer.catch(() => {});
    return answer;
  };
}

async function ask({ session, skill, tool, subject, signal }: ApprovalRequest): Promise<Approval> {
  const paint = paintFor(process.stderr);
  const who = skill === undefined ? 'The agent' : `${printable(skill)} (${session})`;
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
