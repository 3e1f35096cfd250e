import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Messages that the arrow keys bring back. */
const REMEMBERED = 500;
/** Two Ctrl-C within so many milliseconds leave. */
const TWICE = 2_000;

export type Line = { kind: 'line'; text: string } | { kind: 'end' };

/** Where messages come from: a keyboard with history, or a pipe with a message a line. */
export interface Prompt {
  next(): Promise<Line>;
  close(): void;
}

export const openPrompt = (reasonixHome: string): Prompt =>
  process.stdin.isTTY ? keyboard(join(reasonixHome, 'chat-history')) : pipe();

/**
 * An editor a message: between messages the terminal is in its usual state, so that Ctrl-C reaches the
 * process while a turn runs. Lines that are pasted together are one message.
 */
function keyboard(file: string): Prompt {
  const history = readHistory(file);
  return {
    next: () =>
      new Promise((resolve) => {
        const editor = createInterface({
          input: process.stdin,
          output: process.stderr,
          prompt: '› ',
          history: [...history],
          historySize: REMEMBERED,
        });
        const lines: string[] = [];
        let interruptedAt = Number.NEGATIVE_INFINITY;
        const finish = (line: Line) => {
          editor.removeAllListeners();
          editor.close();
          process.stdin.pause();
          resolve(line);
        };
        editor.on('line', (line) => {
          if (lines.push(line) > 1) return;
          setImmediate(() => {
            const text = lines.join('\n');
            remember(file, history, text);
            finish({ kind: 'line', text });
          });
        });
        editor.on('close', () => {
          process.stderr.write('\n');
          finish({ kind: 'end' });
        });
        editor.on('SIGINT', () => {
          if (editor.line === '' && Date.now() - interruptedAt < TWICE) {
            process.stderr.write('\n');
            finish({ kind: 'end' });
            return;
          }
          interruptedAt = Date.now();
          process.stderr.write(editor.line === '' ? '\npress Ctrl-C again to leave\n' : '\n');
          editor.write(null, { ctrl: true, name: 'e' });
          editor.write(null, { ctrl: true, name: 'u' });
          editor.prompt();
        });
        editor.prompt();
      }),
    close: () => {},
  };
}

function pipe(): Prompt {
  const reader = createInterface({ input: process.stdin, terminal: false });
  const lines = reader[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { done, value } = await lines.next();
      return done ? { kind: 'end' } : { kind: 'line', text: value };
    },
    close: () => reader.close(),
  };
}

/** Newest first, as the editor wants it. */
function readHistory(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .slice(-REMEMBERED)
      .reverse();
  } catch {
    return [];
  }
}

function remember(file: string, history: string[], text: string): void {
  const line = text.replaceAll('\n', ' ').trim();
  if (line === '' || history[0] === line) return;
  history.unshift(line);
  try {
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    appendFileSync(file, `${line}\n`, { mode: 0o600 });
  } catch {
    // A history that cannot be kept is no reason to stop talking.
  }
}
