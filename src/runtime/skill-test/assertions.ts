import { z } from 'zod';
import { messageOf } from '../../core/errors.ts';
import { clipEnd, clipGraphemes, clipStart, oneLine } from '../../core/text.ts';
import type { ToolContext } from '../../tools/define-tool.ts';
import { shellTool } from '../../tools/shell.ts';
import { ToolProblem } from '../../tools/tool-problem.ts';
import { Workspace } from '../../tools/workspace.ts';

/** Seconds that a command may take when its assertion does not say. */
const COMMAND_TIMEOUT = 60;
/** Longest part of an output or answer that is quoted as evidence, in graphemes. */
const QUOTED = 300;
/** Largest compiled expression, in instructions. */
const LARGEST_REGEX = 5_000;

/** A sentence is for a person; an object names one of five checks. */
export const assertionSchema = z.union(
  [
    z.string(),
    z.strictObject({ contains: z.string().min(1), text: z.string().optional() }),
    z.strictObject({ not_contains: z.string().min(1), text: z.string().optional() }),
    z.strictObject({ regex: z.string().min(1), text: z.string().optional() }),
    z.strictObject({ json_schema: z.record(z.string(), z.unknown()), text: z.string().optional() }),
    z.strictObject({
      command: z.string().regex(/\S/),
      timeout: z.number().positive().optional(),
      text: z.string().optional(),
    }),
  ],
  { error: 'expected a sentence, or an object with one of contains, not_contains, regex, json_schema, command' },
);

export type RawAssertion = z.output<typeof assertionSchema>;

/** What is graded: an answer and the folder that the run worked in. */
export interface Subject {
  answer: string;
  cwd: string;
  skillFolder: string;
  /** File that holds the answer, for commands. */
  answerFile: string;
  signal: AbortSignal;
}

/** Evidence says why it passed or failed. */
export interface Verdict {
  passed: boolean;
  evidence: string;
}

export interface Assertion {
  /** What it asks for, in words. */
  text: string;
  /** The command that it runs. */
  command?: string | undefined;
  /** Absent when only a person can tell. */
  check?: ((subject: Subject) => Verdict | Promise<Verdict>) | undefined;
}

/** Makes an assertion ready to run. @throws Error saying what is wrong with its expression or schema. */
export async function compileAssertion(raw: RawAssertion): Promise<Assertion> {
  if (typeof raw === 'string') return { text: raw };
  if ('contains' in raw) return contains(raw.contains, true, raw.text);
  if ('not_contains' in raw) return contains(raw.not_contains, false, raw.text);
  if ('regex' in raw) return regex(raw.regex, raw.text);
  if ('json_schema' in raw) return jsonSchema(raw.json_schema, raw.text);
  return command(raw.command, raw.timeout ?? COMMAND_TIMEOUT, raw.text);
}

function contains(
  part: string,
  wanted: boolean,
  text = `${wanted ? 'contains' : 'does not contain'} ${JSON.stringify(part)}`,
): Assertion {
  return {
    text,
    check: ({ answer }) => {
      const at = answer.indexOf(part);
      const evidence = at < 0 ? `not found in ${quote(answer)}` : `found in ${quote(around(answer, at, part.length))}`;
      return { passed: at >= 0 === wanted, evidence };
    },
  };
}

async function regex(pattern: string, text = `matches /${pattern}/`): Promise<Assertion> {
  const { RE2JS } = await import('re2js');
  const expression = RE2JS.compile(pattern);
  if (expression.programSize() > LARGEST_REGEX) throw new Error('the expression is too large');
  return {
    text,
    check: ({ answer }) => {
      const matcher = expression.matcher(answer);
      if (!matcher.find()) return { passed: false, evidence: `no match in ${quote(answer)}` };
      return { passed: true, evidence: `matches ${JSON.stringify(clipGraphemes(matcher.group() ?? '', QUOTED))}` };
    },
  };
}

function jsonSchema(schema: Record<string, unknown>, text = 'is JSON that matches the schema'): Assertion {
  const type = z.fromJSONSchema(schema);
  return {
    text,
    check: ({ answer }) => {
      let value: unknown;
      try {
        value = JSON.parse(unfenced(answer));
      } catch (error) {
        return { passed: false, evidence: `no JSON (${messageOf(error)}): ${quote(answer)}` };
      }
      const result = type.safeParse(value);
      if (result.success) return { passed: true, evidence: `matches: ${quote(answer)}` };
      const issues = result.error.issues
        .slice(0, 3)
        .map(({ path, message }) => `${path.join('.') || 'the value'}: ${message}`);
      return { passed: false, evidence: issues.join('; ') };
    },
  };
}

/** Models put JSON into a fenced block even when they are asked not to. */
function unfenced(answer: string): string {
  return /^\s*```[a-z]*\r?\n([\s\S]*?)\r?\n```\s*$/i.exec(answer)?.[1] ?? answer;
}

function command(line: string, timeout: number, text = `the command succeeds: ${line}`): Assertion {
  return {
    text,
    command: line,
    check: async ({ cwd, skillFolder, answerFile, signal }) => {
      const environment = { ...process.env, REASONIX_SKILL_FOLDER: skillFolder, REASONIX_ANSWER_FILE: answerFile };
      const shell = shellTool(new Workspace({ cwd }), { environment, timeout, maxTimeout: timeout });
      const context: ToolContext = { session: '', call: '', cwd, signal, recovering: false, progress: () => {} };
      try {
        const outcome = await shell.execute({ command: line }, context);
        const { content, isError = false } = typeof outcome === 'string' ? { content: outcome } : outcome;
        return { passed: !isError, evidence: tail(content) };
      } catch (error) {
        if (!(error instanceof ToolProblem)) throw error;
        return { passed: false, evidence: error.message };
      }
    },
  };
}

const around = (text: string, at: number, length: number): string =>
  text.slice(Math.max(0, at - 40), at + length + 40).toWellFormed();

/** The start of a text on one line. */
function quote(text: string): string {
  const line = oneLine(clipStart(text, 4 * QUOTED));
  return line === '' ? 'an empty answer' : clipGraphemes(line, QUOTED);
}

/** The end of an output: there commands say what went wrong. */
function tail(text: string): string {
  const line = oneLine(clipEnd(text, 4 * QUOTED));
  const end = clipEnd(line, QUOTED);
  return end === line ? line : `…${end}`;
}
