import { basename, dirname } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { parseSkill } from '../parse.ts';
import { resolveNames } from '../resolve.ts';
import type { LibraryOptions } from '../types.ts';
import { bundledFindings } from './bundled-files.ts';
import { collectFiles, type ReadFile } from './collect.ts';
import { findingsOf } from './findings.ts';
import { type Fix, planFix } from './fix.ts';
import type { HeaderEdit } from './header-lines.ts';
import { NamesInUse } from './names-in-use.ts';
import type { Finding, LintProblem } from './problem.ts';
import { replaceFile } from './replace-file.ts';
import { schemaFindings } from './schema-findings.ts';
import { strictFindings, strictFindingsOf } from './strict.ts';

export interface LintOptions {
  /** Where the library is: its skills are looked at when `paths` is empty, and relative paths start at its `cwd`. */
  library: LibraryOptions;
  paths?: readonly string[] | undefined;
  /** Only the rules of the specification, all of them errors. */
  strict?: boolean | undefined;
  /** Repair quoting and names, then look. */
  fix?: boolean | undefined;
}

export interface FixedFile {
  path: string;
  edits: HeaderEdit[];
}

export interface LintReport {
  /** Skill files that were looked at. */
  files: number;
  /** File by file, in the order they were found; of one file by line, or in the specification's order. */
  problems: LintProblem[];
  fixed: FixedFile[];
}

/** Looks at skills and says what is odd about them. Never throws for what a file holds. */
export async function lintSkills(options: LintOptions): Promise<LintReport> {
  const { files, problems } = await collectFiles(options);
  const report: LintReport = { files: files.length, problems, fixed: [] };
  const collisions = options.strict ? new Map<string, Finding[]>() : nameCollisions(files);
  const names = new NamesInUse(files.map(({ parsed }) => parsed));
  for (const file of files) {
    const path = file.target.file;
    let plan = await planFix(file.bytes, file.target, names.optionsFor(file.parsed));
    if (plan !== undefined) names.rename(file.parsed, await parseSkill(plan.bytes, file.target));
    let bytes = file.bytes;
    if (plan !== undefined && options.fix) {
      const written = await write(file, plan, problems);
      if (written) {
        report.fixed.push({ path, edits: plan.edits });
        bytes = plan.bytes;
      }
      plan = undefined;
    }
    const look = (content: Buffer): Promise<Finding[]> => findings(content, file, options.strict ?? false);
    const found = [...(await look(bytes)), ...(collisions.get(path) ?? [])];
    const left = plan === undefined ? found : await look(plan.bytes);
    problems.push(...found.map((each) => ({ ...each, path, fixable: isGone(each, found, left) })));
    if (!options.strict) problems.push(...(await besideIt(file)));
  }
  return report;
}

async function findings(bytes: Buffer, { target }: ReadFile, strict: boolean): Promise<Finding[]> {
  if (!strict) {
    const parsed = await parseSkill(bytes, target);
    const ofSchema = parsed.skill ? await schemaFindings(parsed.skill, parsed.fields) : [];
    return [...findingsOf(parsed, bytes, target), ...ofSchema].sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  }
  if (target.layout !== 'folder') return strictFindings(target.file);
  const isOther = !/^(?:SKILL|skill)\.md$/.test(basename(target.file));
  return isOther ? strictFindings(dirname(target.file)) : strictFindingsOf(bytes, basename(dirname(target.file)));
}

async function besideIt({ target: { file, layout } }: ReadFile): Promise<LintProblem[]> {
  const found = await bundledFindings({ layout, folder: dirname(file) });
  return found.flatMap((each) => each.findings.map((finding) => ({ ...finding, path: each.file, fixable: false })));
}

/** Skills of one root that have one name: only one of them can be run. */
function nameCollisions(files: readonly ReadFile[]): Map<string, Finding[]> {
  const skills = files.flatMap(({ parsed: { skill } }) => (skill === undefined ? [] : [skill]));
  const found = new Map<string, Finding[]>();
  for (const { file, diagnostics } of resolveNames(skills, []).skills) {
    const collisions = diagnostics.filter(({ code }) => code === 'name-collision');
    if (collisions.length > 0)
      found.set(
        file,
        collisions.map(({ severity, code, message }) => ({ severity, code, message })),
      );
  }
  return found;
}

async function write(file: ReadFile, plan: Fix, problems: LintProblem[]): Promise<boolean> {
  try {
    await replaceFile(file.target.file, file.bytes, plan.bytes);
    return true;
  } catch (error) {
    const message = `it could not be repaired: ${messageOf(error)}`;
    problems.push({ severity: 'error', code: 'fix-failed', path: file.target.file, message, fixable: false });
    return false;
  }
}

/** Whether a problem is not there any more afterwards, and no other of its kind in its place. */
function isGone(problem: Finding, before: readonly Finding[], after: readonly Finding[]): boolean {
  const ofKind = (findings: readonly Finding[]): number => findings.filter(({ code }) => code === problem.code).length;
  return !after.some(({ message }) => message === problem.message) && ofKind(after) < ofKind(before);
}
