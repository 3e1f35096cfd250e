import { stat } from 'node:fs/promises';
import { dirname, relative, sep } from 'node:path';
import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { byteLength, clipStart } from '../core/text.ts';
import { defineTool, type Tool } from './define-tool.ts';
import { memo } from './memo.ts';
import { globFits, type RipgrepEnd, ripgrep } from './ripgrep.ts';
import { problem, type ToolProblem } from './tool-problem.ts';
import type { Workspace } from './workspace.ts';

const DEFAULT_MATCHES = 100;
const MAX_MATCHES = 2_000;
const MAX_CONTEXT = 20;
/** Signs of a line that are shown. */
const MAX_LINE = 300;
const MAX_BYTES = 30_000;
const TIMEOUT = 30_000;

interface Query {
  pattern: string;
  path?: string | undefined;
  glob?: string | undefined;
  ignore_case?: boolean | undefined;
  context?: number | undefined;
  max?: number | undefined;
}

const schemaOf = memo((parameters: Record<string, string>) =>
  z.object({
    pattern: z.string().describe(parameters.pattern ?? ''),
    path: z.string().optional(),
    glob: z
      .string()
      .optional()
      .describe(parameters.glob ?? ''),
    ignore_case: z.boolean().optional(),
    context: z
      .number()
      .optional()
      .describe(parameters.context ?? ''),
    max: z
      .number()
      .optional()
      .describe(parameters.max ?? ''),
  }),
);

/** Searches file contents; answers `path:line:text`, context lines `path-line-text`. */
export function grepTool(workspace: Workspace): Tool<Query> {
  const { description, parameters } = toolPrompt('grep', { max: DEFAULT_MATCHES });
  return defineTool({
    name: 'grep',
    description,
    input: schemaOf(parameters),
    effects: 'read',
    subject: ({ path }) => workspace.subject(path ?? '.'),
    async execute(query, { signal, scratch }) {
      const own = workspace.withScratch(scratch);
      if (query.pattern === '') throw problem('pattern-empty');
      const target = await own.resolveRead(query.path ?? '.');
      const folder = (await stat(target)).isDirectory() ? target : dirname(target);
      const everything = await own.isReadableExtra(target);
      const hits = new Hits(own, folder, query);
      const end = await ripgrep({
        args: argumentsFor(query, target, everything),
        cwd: folder,
        signal,
        timeout: TIMEOUT,
        separator: '\n',
        take: (record) => hits.take(record),
      });
      if (end.exitCode === 2 && hits.matches === 0) throw trouble(end.stderr, query.pattern);
      return hits.report(end, own.display(target));
    },
  });
}

function argumentsFor({ pattern, glob, ignore_case, context }: Query, target: string, everything: boolean): string[] {
  const around = Math.min(MAX_CONTEXT, Math.max(0, Math.floor(context ?? 0)));
  const args = ['--color=never', '--no-heading', '--with-filename', '--line-number', '--column', '--null'];
  args.push('--sort=path', '--engine=auto');
  if (everything) args.push('--hidden', '--no-ignore');
  if (ignore_case) args.push('--ignore-case');
  if (around > 0) args.push(`--context=${around}`);
  if (/\\n|\n/.test(pattern)) args.push('--multiline');
  // A glob of ripgrep's own would switch the ignore files off; a type only picks among what is left.
  const name = glob?.split('/').at(-1) ?? '';
  if (/^[\w.*?-]+$/.test(name) && !/^\*+$/.test(name)) args.push(`--type-add=picked:${name}`, '--type=picked');
  args.push(`--regexp=${pattern}`, '--', target);
  return args;
}

/** What ripgrep found, as far as it is shown. */
class Hits {
  matches = 0;
  readonly #lines: string[] = [];
  readonly #workspace: Workspace;
  readonly #folder: string;
  readonly #query: Query;
  readonly #max: number;
  #bytes = 0;
  #full = false;

  constructor(workspace: Workspace, folder: string, query: Query) {
    this.#workspace = workspace;
    this.#folder = folder;
    this.#query = query;
    this.#max = Math.min(MAX_MATCHES, Math.max(1, Math.floor(query.max ?? DEFAULT_MATCHES)));
  }

  take(record: string): boolean {
    const nul = record.indexOf('\0');
    if (nul < 0) {
      if (record === '--' && this.#lines.length > 0 && this.#lines.at(-1) !== '--') this.#lines.push('--');
      return true;
    }
    const file = record.slice(0, nul);
    const parts = /^(\d+)(?::(\d+):|(-))(.*)$/s.exec(record.slice(nul + 1));
    if (!parts || !this.#wants(file)) return true;
    const [, line = '', column, dash, text = ''] = parts;
    if (column !== undefined && this.matches >= this.#max) {
      this.#full = true;
      return false;
    }
    const sign = dash === undefined ? ':' : '-';
    const shown = `${this.#workspace.display(file)}${sign}${line}${sign}${around(text, Number(column ?? 1))}`;
    this.#bytes += byteLength(shown) + 1;
    if (this.#bytes > MAX_BYTES) {
      this.#full = true;
      return false;
    }
    if (column !== undefined) this.matches++;
    this.#lines.push(shown);
    return true;
  }

  report(end: RipgrepEnd, where: string): string {
    const { pattern, glob } = this.#query;
    while (this.#lines.at(-1) === '--') this.#lines.pop();
    const inFiles = glob === undefined ? '' : ` in files that fit ${glob}`;
    if (this.matches === 0) {
      const cut = end.how === 'timed-out' ? ` after ${TIMEOUT / 1000} s, when the search was stopped` : '';
      return `[no match for ${clipStart(pattern, 200)} in ${where}${inFiles}${cut}]`;
    }
    if (this.#full) this.#lines.push(`[stopped after ${this.matches} matches: narrow with path, glob or pattern]`);
    if (end.how === 'timed-out') this.#lines.push(`[stopped after ${TIMEOUT / 1000} s: narrow with path or glob]`);
    return this.#lines.join('\n');
  }

  #wants(file: string): boolean {
    const { glob } = this.#query;
    if (this.#workspace.isForbidden(file)) return false;
    return glob === undefined || globFits(glob, relative(this.#folder, file).split(sep).join('/'));
  }
}

/** The part of a long line that the match is in; `column` counts bytes, from 1. */
function around(line: string, column: number): string {
  const text = line.replace(/\r$/, '');
  if (text.length <= MAX_LINE) return text;
  const before = Buffer.from(text, 'utf8')
    .subarray(0, column - 1)
    .toString('utf8').length;
  const from = before < MAX_LINE / 2 ? 0 : before - Math.floor(MAX_LINE / 4);
  const part = clipStart(text.slice(from).toWellFormed(), MAX_LINE);
  return `${from > 0 ? '…' : ''}${part}${from + part.length < text.length ? '…' : ''}`;
}

function trouble(stderr: string, pattern: string): ToolProblem {
  const text = stderr.replace(/^rg: /gm, '').trim();
  if (/regex parse error|PCRE2: error|regex could not be compiled|repetition/i.test(text)) {
    const why = /^error: (.*)$/m.exec(text)?.[1] ?? clipStart(text, 1_000);
    return problem('pattern-invalid', { why, pattern: clipStart(pattern, 100) });
  }
  return problem('search-failed', { why: clipStart(text, 1_000) });
}
