import { parseArgs } from 'node:util';
import { ReasonixError } from '../core/errors.ts';
import type { Command, FlagSpec } from './command.ts';

export interface ParsedWords {
  flags: Record<string, unknown>;
  args: string[];
  help: boolean;
}

/**
 * Reads the words after a command's name. Flags may stand anywhere; everything after `--` is an argument.
 * @throws ReasonixError `usage` for unknown flags, missing or wrong values, and a wrong number of arguments.
 */
export async function parseWords(command: Command, words: readonly string[]): Promise<ParsedWords> {
  const specs: Record<string, FlagSpec> = command.flags;
  const options: Record<string, { type: 'boolean' | 'string'; short?: string }> = {
    help: { type: 'boolean', short: 'h' },
    'no-color': { type: 'boolean' },
  };
  for (const [name, { type, short }] of Object.entries(specs)) {
    options[name] = { type: type === 'boolean' ? 'boolean' : 'string', ...(short ? { short } : {}) };
  }
  const { tokens } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true, tokens: true });
  const flags: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(specs)) if (spec.many) flags[name] = [];
  const args: string[] = [];
  let help = false;
  for (const token of tokens) {
    if (token.kind === 'positional') args.push(token.value);
    if (token.kind !== 'option') continue;
    if (token.name === 'help') help = true;
    else if (token.name !== 'no-color') {
      const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined;
      if (!spec) throw await unknownFlag(command, token.rawName, Object.keys(options));
      const value = await parseValue(command, token.rawName, spec, token.value, token.inlineValue ?? false);
      if (spec.many) (flags[token.name] as unknown[]).push(value);
      else if (Object.hasOwn(flags, token.name)) throw usage(command, `${token.rawName} is given twice`);
      else flags[token.name] = value;
    }
  }
  if (!help) checkCount(command, args);
  return { flags, args, help };
}

async function parseValue(
  command: Command,
  name: string,
  spec: FlagSpec,
  text: string | undefined,
  inline: boolean,
): Promise<unknown> {
  if (spec.type === 'boolean') {
    if (text !== undefined) throw usage(command, `${name} takes no value`);
    return true;
  }
  const isNextFlag = !inline && text !== undefined && /^-./.test(text) && !/^-\d/.test(text);
  if (text === undefined || isNextFlag) {
    const more = isNextFlag ? `; write ${name}=${text} if that is the value` : '';
    throw usage(command, `${name} needs a value: ${name} ${spec.value ?? 'VALUE'}${more}`);
  }
  const wrong = (expected: string) => usage(command, `${name}: expected ${expected}, found ${JSON.stringify(text)}`);
  if (spec.choices && !spec.choices.includes(text)) throw wrong(`one of ${spec.choices.join(', ')}`);
  if (spec.type === 'string') return text;
  if (spec.type === 'duration') {
    const { parseDuration } = await import('../config/values.ts');
    const duration = parseDuration(text);
    if (duration === undefined || duration <= 0) throw wrong('a duration such as 90s or 5m');
    return duration;
  }
  const number = text.trim() === '' ? Number.NaN : Number(text);
  if (spec.type === 'integer') {
    const { min = 1 } = spec;
    if (Number.isSafeInteger(number) && number >= min) return number;
    throw wrong(min === 1 ? 'a whole number above 0' : `a whole number of ${min} or more`);
  }
  if (!(Number.isFinite(number) && number > 0)) throw wrong('a number above 0');
  return number;
}

function checkCount(command: Command, args: readonly string[]): void {
  const required = command.args.filter(({ kind }) => kind === 'required' || kind === 'many');
  const missing = required[args.length];
  if (missing) throw usage(command, `${missing.name} is missing`);
  const isOpen = command.args.some(({ kind }) => kind === 'rest' || kind === 'many');
  if (!isOpen && args.length > command.args.length) {
    throw usage(command, `${JSON.stringify(args[command.args.length])} is one argument too many`);
  }
}

async function unknownFlag(command: Command, rawName: string, names: readonly string[]): Promise<ReasonixError> {
  const { nearest } = await import('../config/nearest.ts');
  const near = rawName.startsWith('--') ? nearest(rawName.slice(2), names) : undefined;
  return usage(command, `unknown flag ${rawName}${near ? `; did you mean --${near}?` : ''}`);
}

const usage = (command: Command, message: string): ReasonixError =>
  new ReasonixError('usage', `${command.name}: ${message}`, { hint: `see: reasonix ${command.name} --help` });
