import { readFile, realpath } from 'node:fs/promises';
import { isAbsolute, join, normalize, sep } from 'node:path';
import { z } from 'zod';
import { messageOf, ReasonixError } from '../../core/errors.ts';
import { decode } from '../../skills/decode.ts';
import type { Skill } from '../../skills/types.ts';
import { type Assertion, assertionSchema, compileAssertion } from './assertions.ts';

/** A case of `evals/evals.json`. */
export interface EvalCase {
  id: string;
  prompt: string;
  /** What a good answer is, in words for a person. */
  expectedOutput?: string | undefined;
  /** Files and folders that the case starts with. */
  files: readonly EvalFile[];
  assertions: readonly Assertion[];
}

export interface EvalFile {
  /** Real path. */
  source: string;
  /** Where it goes in the work folder, relative. */
  target: string;
}

export interface Evals {
  cases: readonly EvalCase[];
  /** Odd, but no reason to stop. */
  problems: readonly string[];
}

/** Unknown keys are left alone: other programs keep their own in the same file. */
const fileSchema = z.object({
  skill_name: z.string().optional(),
  evals: z.array(
    z.object({
      id: z.union([z.string().min(1), z.number()]).optional(),
      prompt: z.string().regex(/\S/, 'must say something'),
      expected_output: z.string().optional(),
      files: z.array(z.string()).optional(),
      assertions: z.array(assertionSchema).optional(),
      expectations: z.array(z.string()).optional(),
    }),
  ),
});

type RawCase = z.output<typeof fileSchema>['evals'][number];

/**
 * Reads and checks the cases of a skill, before anything is run.
 * @throws ReasonixError `skill_invalid` naming the file, the case and the key.
 */
export async function readEvals(skill: Skill): Promise<Evals> {
  if (skill.layout !== 'folder') {
    throw invalid(`the skill ${skill.name} is a single file and has no folder for tests`, {
      hint: `make it a folder: ${skill.name}/SKILL.md, with its tests in ${skill.name}/evals/evals.json`,
    });
  }
  const path = join(skill.folder, 'evals', 'evals.json');
  const { skill_name: name, evals } = parse(path, await readText(path, skill.name));
  if (evals.length === 0) throw invalid(`${path} has no cases`, { hint: 'add one to "evals"' });
  const base = await realpath(skill.folder);
  const cases: EvalCase[] = [];
  for (const [index, raw] of evals.entries()) cases.push(await readCase(raw, index, { path, base }));
  const twice = cases.find(({ id }, index) => cases.findIndex((each) => each.id === id) < index);
  if (twice) throw invalid(`${path}: two cases have the id ${JSON.stringify(twice.id)}`, { hint: 'give each its own' });
  const isOther = name !== undefined && name !== skill.name;
  return { cases, problems: isOther ? [`${path} is written for the skill ${JSON.stringify(name)}`] : [] };
}

async function readText(path: string, skill: string): Promise<string> {
  try {
    return decode(await readFile(path)).text;
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw invalid(isMissing ? `the skill ${skill} has no tests` : `${path} cannot be read: ${messageOf(error)}`, {
      hint: isMissing ? `write some to ${path}; docs/skill-tests.md shows the format` : undefined,
      cause: error,
    });
  }
}

function parse(path: string, text: string): z.output<typeof fileSchema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(`${path} is no JSON: ${messageOf(error)}`, { cause: error });
  }
  const result = fileSchema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, 3).map(({ path: keys, message }) => `${placeOf(keys, value)}${message}`);
  throw invalid(`${path}: ${issues.join('; ')}`, { hint: 'docs/skill-tests.md shows the format' });
}

/** `case "2", assertions.0: ` for a key below `evals`. */
function placeOf(keys: readonly PropertyKey[], value: unknown): string {
  const [first, index, ...rest] = keys;
  if (first !== 'evals' || typeof index !== 'number') return keys.length > 0 ? `${keys.join('.')}: ` : '';
  const id = (value as { evals: { id?: unknown }[] }).evals[index]?.id ?? index + 1;
  return `case ${JSON.stringify(String(id))}${rest.length > 0 ? `, ${rest.join('.')}` : ''}: `;
}

async function readCase(
  raw: RawCase,
  index: number,
  { path, base }: { path: string; base: string },
): Promise<EvalCase> {
  const id = String(raw.id ?? index + 1);
  const where = `${path}: case ${JSON.stringify(id)}`;
  const files: EvalFile[] = [];
  for (const file of raw.files ?? []) files.push(await readFileEntry(file, base, where));
  const assertions: Assertion[] = [];
  for (const [at, each] of [...(raw.assertions ?? []), ...(raw.expectations ?? [])].entries()) {
    try {
      assertions.push(await compileAssertion(each));
    } catch (error) {
      throw invalid(`${where}, assertions.${at}: ${messageOf(error)}`, { cause: error });
    }
  }
  return { id, prompt: raw.prompt, expectedOutput: raw.expected_output, files, assertions };
}

/** What lies in `evals/files/` starts at the top of the work folder; all else keeps its path. */
async function readFileEntry(file: string, base: string, where: string): Promise<EvalFile> {
  const path = normalize(file.replaceAll('\\', '/'));
  const outside = invalid(`${where}: the file ${JSON.stringify(file)} is not in the folder of the skill`, {
    hint: 'put it into evals/files/ and name it from the folder of the skill',
  });
  if (isAbsolute(path) || path.split(sep)[0] === '..') throw outside;
  const source = await realpath(join(base, path)).catch((cause: unknown) => {
    throw invalid(`${where}: there is no file ${JSON.stringify(file)} in ${base}`, { cause });
  });
  if (!isWithin(source, base)) throw outside;
  const prefix = join('evals', 'files');
  const target = path === prefix ? '.' : path.startsWith(prefix + sep) ? path.slice(prefix.length + 1) : path;
  return { source, target };
}

/** Whether a real path is a folder or lies in it. */
export const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(folder + sep);

function invalid(message: string, more: { hint?: string | undefined; cause?: unknown } = {}): ReasonixError {
  return new ReasonixError('skill_invalid', message, more);
}
