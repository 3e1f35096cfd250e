/**
 * As much of the shell's grammar as permission rules need. Allowing is strict: what is not
 * understood is not matched. Denying is broad: every place where a command could stand counts.
 */

const HARMLESS_REDIRECTION = /^>(?:&[12]|[ \t]*\/dev\/null)(?=[\s;|&]|$)/;

/** What `cmd.exe` reads differently from a POSIX shell. */
const WINDOWS_ONLY = /['^%!`]|\\["&|<>]/;

/**
 * The simple commands of a compound one (`a && b | c`), blanks folded, quotes kept; `undefined` when
 * the command holds something that may run or write what cannot be seen: a substitution, a
 * redirection other than to `/dev/null` or between outputs, a group, a comment, an open quote.
 */
export function simpleCommands(command: string, platform: string = process.platform): string[] | undefined {
  if (command.includes('\0') || (platform === 'win32' && WINDOWS_ONLY.test(command))) return undefined;
  const commands: string[] = [];
  let current = '';
  let quote = '';
  for (let at = 0; at < command.length; at++) {
    const sign = command[at] as string;
    const next = command[at + 1] ?? '';
    if (quote === "'") {
      if (sign === "'") quote = '';
      current += sign;
      continue;
    }
    if (sign === '\\') {
      if (next === '') return undefined;
      if (next !== '\n') current += sign + next;
      at++;
      continue;
    }
    if (sign === '`' || (sign === '$' && !harmlessDollar(command, at, quote))) return undefined;
    if (quote === '"') {
      if (sign === '"') quote = '';
      current += sign;
      continue;
    }
    if (sign === "'" || sign === '"') {
      quote = sign;
      current += sign;
    } else if (sign === ';' || sign === '&' || sign === '|' || sign === '\n') {
      commands.push(current);
      current = '';
    } else if (sign === '>') {
      const harmless = HARMLESS_REDIRECTION.exec(command.slice(at, at + 40))?.[0];
      if (harmless === undefined) return undefined;
      current = current.replace(/(^| )[12]$/, '$1');
      at += harmless.length - 1;
    } else if (sign === '<' || sign === '(' || sign === ')') {
      return undefined;
    } else if (sign === '#' && (current === '' || current.endsWith(' '))) {
      return undefined;
    } else if (sign === ' ' || sign === '\t') {
      if (current !== '' && !current.endsWith(' ')) current += ' ';
    } else {
      current += sign;
    }
  }
  if (quote !== '') return undefined;
  commands.push(current);
  return commands.map((each) => each.trim()).filter((each) => each !== '');
}

/** `$NAME`, `${NAME}`, `$1`, `$?` put text into words; every other form may run something. */
function harmlessDollar(command: string, at: number, quote: string): boolean {
  const rest = command.slice(at + 1, at + 130);
  if (/^(?:\w|\{\w+\}|[?#@*$!-])/.test(rest)) return true;
  return /^(?:[\s/.:,=%+]|$)/.test(rest) || (quote === '"' && rest.startsWith('"'));
}

/** Words after which, anywhere, another command may follow. */
const WRAPPERS = new Set(
  '! { if then else elif do while until time sudo doas env nohup nice ionice setsid stdbuf timeout exec command builtin xargs parallel find watch strace coproc function busybox toybox chroot unshare nsenter taskset chrt setpriv runuser systemd-run flock entr'.split(
    ' ',
  ),
);
/** Commands that take a command as one word, or read commands. */
const INTERPRETERS = new Set('sh bash dash zsh ksh fish eval su ssh script trap at batch source .'.split(' '));
const MAX_NESTING = 4;
/** Texts within texts that are looked into; a command that needs more is taken for one that may run anything. */
const MAX_TEXTS = 400;
const MAX_CHARACTERS = 1_000_000;

/**
 * Every command that `command` may run, as dequoted words joined by blanks: for deny rules. `undefined` when
 * there are too many to tell.
 */
export function possibleCommands(command: string): string[] | undefined {
  const found = new Set<string>();
  let characters = 0;
  const seen = new Set<string>();
  const texts: { text: string; nesting: number }[] = [{ text: command, nesting: 0 }];
  for (let next = texts.pop(); next; next = texts.pop()) {
    if (seen.has(next.text)) continue;
    seen.add(next.text);
    if (seen.size > MAX_TEXTS) return undefined;
    const { nesting } = next;
    const commands = looseCommands(next.text).map((words) => ({ words, rest: withoutAssignments(words) }));
    for (const { rest } of commands) {
      for (const each of readings(rest)) {
        found.add(each);
        characters += each.length;
        if (characters > MAX_CHARACTERS) return undefined;
      }
    }
    // An interpreter may be given its commands by whatever stands beside it, as in `echo … | sh`.
    if (nesting >= MAX_NESTING || !commands.some(({ words }) => words.some(isInterpreter))) continue;
    for (const { words, rest } of commands) {
      const inner = [...words, rest.slice(1).join(' ')];
      texts.push(...inner.filter((text) => text !== '').map((text) => ({ text, nesting: nesting + 1 })));
    }
  }
  return [...found];
}

const isInterpreter = (word: string): boolean => INTERPRETERS.has(baseName(word));

const withoutAssignments = (words: string[]): string[] => {
  const start = words.findIndex((word) => !/^\w+\+?=/.test(word));
  return start < 0 ? [] : words.slice(start);
};

/** The commands that one simple command may be: itself, what a wrapper runs, and each without its first options. */
function* readings(words: string[]): Generator<string> {
  const starts = WRAPPERS.has(baseName(words[0] ?? '')) ? words.keys() : [0];
  for (const from of starts) {
    const [head = '', ...rest] = words.slice(from);
    if (head === '') continue;
    yield [head, ...rest].join(' ');
    yield [baseName(head), ...rest].join(' ');
    // `git -C . push`: an option may have an argument, or not.
    for (let at = 0; at < rest.length && (isOption(rest[at]) || isOption(rest[at - 1])); at++) {
      yield [baseName(head), ...rest.slice(at + 1)].join(' ');
    }
  }
}

const isOption = (word: string | undefined): boolean => word?.startsWith('-') === true;

function baseName(word: string): string {
  return word.slice(Math.max(word.lastIndexOf('/'), word.lastIndexOf('\\')) + 1).replace(/\.(?:exe|cmd|bat)$/i, '');
}

/** Splits at everything that may begin a command, substitutions inside double quotes included. */
function looseCommands(command: string): string[][] {
  const commands: string[][] = [];
  /** The quotes that the open substitutions stand in. */
  const outer: { quote: string; closes: string }[] = [];
  let words: string[] = [];
  let word = '';
  let started = false;
  let target = false;
  let quote = '';
  const endWord = (): void => {
    if (started && !target) words.push(word);
    if (started) target = false;
    word = '';
    started = false;
  };
  const endCommand = (): void => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
    target = false;
  };
  for (let at = 0; at < command.length; at++) {
    const sign = command[at] as string;
    const next = command[at + 1] ?? '';
    if (quote === "'") {
      if (sign === "'") quote = '';
      else word += sign;
    } else if (sign === '\\') {
      if (next !== '\n') word += next;
      started ||= next !== '\n';
      at++;
    } else if (outer.at(-1)?.closes === sign && quote === '') {
      endCommand();
      quote = outer.pop()?.quote ?? '';
      started = quote !== '';
    } else if (sign === '$' && quote === '' && /^\$(?:IFS\b|\{IFS\})/.test(command.slice(at, at + 6))) {
      endWord();
      at += next === '{' ? 5 : 3;
    } else if (sign === '$' && quote === '' && (next === "'" || next === '"')) {
      started = true;
    } else if (sign === '`' || (sign === '$' && next === '(')) {
      endCommand();
      outer.push({ quote, closes: sign === '`' ? '`' : ')' });
      if (sign === '$') at++;
      quote = '';
    } else if (quote === '"') {
      if (sign === '"') quote = '';
      else word += sign;
    } else if (sign === "'" || sign === '"') {
      quote = sign;
      started = true;
    } else if (sign === '#' && !started) {
      const end = command.indexOf('\n', at);
      at = end < 0 ? command.length : end - 1;
    } else if (sign === '<' || sign === '>') {
      if (/^\d+$/.test(word)) {
        word = '';
        started = false;
      }
      endWord();
      // The text of `<<<` is given to the command, as one of its words would be.
      target = !command.startsWith('<<<', at);
      while (/[<>&|]/.test(command[at + 1] ?? '')) at++;
    } else if (/[;&|\n()]/.test(sign)) {
      endCommand();
    } else if (/\s/.test(sign)) {
      endWord();
    } else {
      word += sign;
      started = true;
    }
  }
  endCommand();
  return commands;
}
