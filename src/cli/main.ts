import type { Command } from './command.ts';
import { COMMANDS, GROUPS } from './commands.ts';
import { EXIT, exitCodeOf, reportError, reportErrorAsJson } from './failure.ts';
import { note, print } from './output.ts';
import { parseWords } from './parse-args.ts';
import { columnsOf, paintFor, switchColourOff } from './terminal.ts';

/** Runs the command line and sets the exit code of the process; resolves when the command is done. */
export async function main(words: readonly string[]): Promise<void> {
  endQuietlyOnClosedPipes();
  const separator = words.indexOf('--');
  const flags = separator < 0 ? words : words.slice(0, separator);
  if (flags.includes('--no-color')) switchColourOff();
  const firstWord = words.findIndex((word) => word !== '--no-color');
  // Much of what a run waits for keeps no process alive by itself: deadlines, other processes, an embedded model.
  const alive = setInterval(() => {}, 2 ** 30);
  try {
    process.exitCode = await dispatch(firstWord < 0 ? [] : words.slice(firstWord));
  } finally {
    clearInterval(alive);
  }
}

async function dispatch(words: readonly string[]): Promise<number> {
  const { command, group, rest } = find(words);
  if (command) return run(command, rest);
  const [word, ...more] = rest;
  if (word === 'help' && !group && more.length > 0) return dispatch([...more, '--help']);
  if (word === '--help' || word === '-h' || word === 'help') {
    print(await overview(group, process.stdout));
    return EXIT.done;
  }
  if (word === '--version' || word === '-v') return printVersion();
  if (word === undefined) note(await overview(group, process.stderr));
  else reportError(await unknownCommand(group, word));
  return EXIT.usage;
}

interface Found {
  command?: Command | undefined;
  /** `skill` of `skill list`, also when no command follows it. */
  group?: string | undefined;
  /** The words after what was found. */
  rest: readonly string[];
}

function find(words: readonly string[]): Found {
  const [first = '', second = ''] = words;
  const named = (name: string) => COMMANDS.find((command) => command.name === name);
  const group = Object.hasOwn(GROUPS, first) ? first : undefined;
  if (!group) {
    const command = named(first);
    return command ? { command, rest: words.slice(1) } : { rest: words };
  }
  const command = named(`${group} ${second}`);
  return command ? { command, group, rest: words.slice(2) } : { group, rest: words.slice(1) };
}

async function run(command: Command, words: readonly string[]): Promise<number> {
  try {
    const { flags, args, help } = await parseWords(command, words);
    if (help) {
      const { commandHelp } = await import('./help.ts');
      print(commandHelp(command, { columns: columnsOf(process.stdout), paint: paintFor(process.stdout) }));
      return EXIT.done;
    }
    const handle = await command.load();
    return await handle({ flags: flags as Parameters<typeof handle>[0]['flags'], args });
  } catch (error) {
    if (wantsJson(command, words)) reportErrorAsJson(error);
    reportError(error);
    return exitCodeOf(error);
  }
}

/** Whoever asked for JSON gets the error as JSON too, also when the other flags cannot be read. */
function wantsJson(command: Command, words: readonly string[]): boolean {
  const separator = words.indexOf('--');
  const given = separator < 0 ? words : words.slice(0, separator);
  if ('json' in command.flags && given.includes('--json')) return true;
  if (!('output' in command.flags)) return false;
  return given.some(
    (word, index) =>
      /^--output=(stream-)?json$/.test(word) ||
      (word === '--output' && /^(stream-)?json$/.test(given[index + 1] ?? '')),
  );
}

async function overview(group: string | undefined, stream: NodeJS.WriteStream): Promise<string> {
  const { overviewHelp } = await import('./help.ts');
  const inGroup = COMMANDS.filter(({ name }) => name.startsWith(`${group} `)).map(
    ({ name, summary }) => [name, summary] as const,
  );
  const alone = COMMANDS.filter(({ name }) => !name.includes(' ')).map(({ name, summary }) => [name, summary] as const);
  const entries = group ? inGroup : [...alone, ...Object.entries(GROUPS)];
  return overviewHelp(group, entries, { columns: columnsOf(stream), paint: paintFor(stream) });
}

async function unknownCommand(group: string | undefined, word: string): Promise<Error> {
  const [{ nearest }, { ReasonixError }] = await Promise.all([
    import('../config/nearest.ts'),
    import('../core/errors.ts'),
  ]);
  const names = COMMANDS.map(({ name }) => name);
  const candidates = group
    ? names.filter((name) => name.startsWith(`${group} `)).map((name) => name.slice(group.length + 1))
    : [...names.filter((name) => !name.includes(' ')), ...Object.keys(GROUPS)];
  const near = nearest(word, candidates);
  const prefix = group ? `${group} ` : '';
  const isFlag = word.startsWith('-');
  const asTask = !group && /\s/.test(word) ? `; to give a task: reasonix run ${JSON.stringify(word)}` : '';
  const suggestion = near ? `; did you mean reasonix ${prefix}${near}?` : asTask;
  return new ReasonixError(
    'usage',
    `unknown ${isFlag ? 'flag' : 'command'} ${isFlag ? '' : prefix}${word}${suggestion}`,
    {
      hint:
        isFlag && !near
          ? `flags stand after a command; see: reasonix ${prefix}--help`
          : `see: reasonix ${prefix}--help`,
    },
  );
}

async function printVersion(): Promise<number> {
  const [{ readFile }, { packageRoot }] = await Promise.all([import('node:fs/promises'), import('../core/prompts.ts')]);
  const { version } = JSON.parse(await readFile(`${packageRoot}/package.json`, 'utf8')) as { version: string };
  print(version);
  return EXIT.done;
}

/**
 * Whoever reads us may stop reading: `| head -1`. Data commands then end at once and are content; a run
 * listens for the same event to stop its turn first.
 */
function endQuietlyOnClosedPipes(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      reportError(new Error(`the output cannot be written: ${error.message}`, { cause: error }));
      process.exit(EXIT.failed);
    }
    if (process.stdout.listenerCount('error') === 1) process.exit(EXIT.done);
  });
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}
