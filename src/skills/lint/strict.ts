import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ReasonixError } from '../../core/errors.ts';
import { findFrontMatter } from '../fence.ts';
import { kindOf, listFolder, realPath } from '../folders.ts';
import type { Value } from '../front-matter.ts';
import { sortedByCodePoint } from '../names.ts';
import type { Finding } from './problem.ts';
import { readStrictHeader } from './strict-yaml.ts';

const FIELDS = ['allowed-tools', 'compatibility', 'description', 'license', 'metadata', 'name'] as const;
const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 1024;
const LONGEST_COMPATIBILITY = 500;

/**
 * What the validator of the Agent Skills specification says about a skill folder, or about the SKILL.md
 * in it: the same texts in the same order. Empty when the skill is valid. It differs knowingly in two
 * places: only a line that is exactly `---` closes the front matter, and the reason after "Invalid YAML
 * in frontmatter:" is worded by another YAML library.
 */
export async function strictProblems(path: string): Promise<string[]> {
  return (await strictFindings(path)).map(({ message }) => message);
}

/** The same with codes and, where there is one, the line. */
export async function strictFindings(path: string): Promise<Finding[]> {
  const kind = kindOf(path);
  if (kind === 'missing' || kind === 'loop') return [finding('spec-path', `Path does not exist: ${path}`)];
  const folder = kind === 'file' && isSkillFile(path) ? dirname(resolve(path)) : path;
  if (kind !== 'folder' && folder === path) return [finding('spec-path', `Not a directory: ${path}`)];
  const file = findSkillFile(folder);
  if (file === undefined) return [finding('spec-file', 'Missing required file: SKILL.md')];
  return strictFindingsOf(await readFile(file), basename(resolve(folder)));
}

/** The findings about the content of a SKILL.md in a folder of this name. */
export async function strictFindingsOf(bytes: Uint8Array, folderName: string): Promise<Finding[]> {
  const header = await strictHeaderOf(bytes);
  if ('finding' in header) return [header.finding];
  const { values, lineOf } = header;
  const findings: Finding[] = [];
  const report = (field: string, messages: readonly string[]): void => {
    for (const message of messages) findings.push(finding(`spec-${field}`, message, lineOf(field)));
  };
  const extra = sortedByCodePoint(
    [...values.keys()].filter((key) => !FIELDS.some((field) => field === key)),
    (key) => key,
  );
  if (extra.length > 0) {
    const allowed = FIELDS.map((field) => `'${field}'`).join(', ');
    const message = `Unexpected fields in frontmatter: ${extra.join(', ')}. Only [${allowed}] are allowed.`;
    findings.push(finding('spec-fields', message, lineOf(extra[0]!)));
  }
  const checks = { name: (value: Value) => nameProblems(value, folderName), description: descriptionProblems };
  for (const [field, check] of Object.entries(checks)) {
    const value = values.get(field);
    report(field, value === undefined ? [`Missing required field in frontmatter: ${field}`] : check(value));
  }
  const compatibility = values.get('compatibility');
  if (compatibility !== undefined) report('compatibility', compatibilityProblems(compatibility));
  return findings;
}

/** What `read-properties` prints: fields without a value are left out. */
export interface SkillProperties {
  name: string;
  description: string;
  license?: Value;
  compatibility?: Value;
  'allowed-tools'?: Value;
  metadata?: Value;
}

/**
 * Reads the properties of a skill folder, or of the SKILL.md in it, as the specification's library does;
 * values inside `metadata` are text. Lengths and characters are not checked.
 * @throws ReasonixError `skill_not_found` without a SKILL.md; `skill_invalid` for front matter that
 * cannot be read, or lacks a name or description. The messages are those of the library.
 */
export async function readStrict(path: string): Promise<SkillProperties> {
  const folder = kindOf(path) === 'file' && isSkillFile(path) ? dirname(resolve(path)) : path;
  const file = findSkillFile(folder);
  if (file === undefined) {
    throw new ReasonixError('skill_not_found', `SKILL.md not found in ${path}`, { hint: 'give the folder of a skill' });
  }
  const header = await strictHeaderOf(await readFile(file));
  if ('finding' in header) throw invalid(header.finding.message);
  const { values } = header;
  const texts = (['name', 'description'] as const).map((field) => {
    const value = values.get(field);
    if (value === undefined) throw invalid(`Missing required field in frontmatter: ${field}`);
    return [field, value] as const;
  });
  const [name = '', description = ''] = texts.map(([field, value]) => {
    if (isBlank(value)) throw invalid(`Field '${field}' must be a non-empty string`);
    return (value as string).trim();
  });
  const properties: SkillProperties = { name, description };
  for (const field of ['license', 'compatibility', 'allowed-tools'] as const) {
    const value = values.get(field);
    if (value !== undefined && value !== '') properties[field] = value;
  }
  const metadata = values.get('metadata');
  if (metadata !== undefined && metadata !== '') properties.metadata = withTexts(metadata);
  return properties;
}

/** The `<available_skills>` block of the specification's library for these skill folders, in their order. */
export async function toPrompt(folders: readonly string[]): Promise<string> {
  const lines: string[] = [];
  for (const each of folders) {
    const { name, description } = await readStrict(each);
    const real = realPath(resolve(each));
    const folder = kindOf(real) === 'file' ? dirname(real) : real;
    const location = findSkillFile(folder) ?? '';
    lines.push('<skill>', '<name>', escaped(name), '</name>', '<description>', escaped(description), '</description>');
    lines.push('<location>', location, '</location>', '</skill>');
  }
  return ['<available_skills>', ...lines, '</available_skills>'].join('\n');
}

/** `SKILL.md`, else `skill.md`; no other spelling. */
export function findSkillFile(folder: string): string | undefined {
  const names = kindOf(folder) === 'folder' ? new Set(listFolder(folder).map(({ name }) => name)) : new Set();
  const name = ['SKILL.md', 'skill.md'].find((each) => names.has(each) && kindOf(join(folder, each)) === 'file');
  return name === undefined ? undefined : join(folder, name);
}

export const isSkillFile = (path: string): boolean => /^skill\.md$/i.test(basename(path));

interface StrictFields {
  values: Map<string, Value>;
  /** Line in the file; undefined for a field that is not there. */
  lineOf(field: string): number | undefined;
}

async function strictHeaderOf(bytes: Uint8Array): Promise<StrictFields | { finding: Finding }> {
  const fail = (message: string, line: number | undefined, code = 'spec-frontmatter'): { finding: Finding } => ({
    finding: finding(code, message, line),
  });
  if (!isUtf8(bytes)) return fail('SKILL.md must be UTF-8 text', undefined);
  const text = Buffer.from(bytes).toString('utf8');
  const fenced = findFrontMatter(text);
  const unclosed = fenced.notes.some(({ code }) => code === 'fence-unclosed');
  if (!text.startsWith('---') || (fenced.header === undefined && !unclosed)) {
    return fail('SKILL.md must start with YAML frontmatter (---)', 1);
  }
  if (unclosed || fenced.header === undefined) return fail('SKILL.md frontmatter not properly closed with ---', 1);
  const header = await readStrictHeader(fenced.header);
  const lineInFile = (line: number): number => line + fenced.headerLine - 1;
  if (header === 'no-mapping') return fail('SKILL.md frontmatter must be a YAML mapping', fenced.headerLine);
  if ('fault' in header) {
    const { line, reason } = header.fault;
    return fail(`Invalid YAML in frontmatter: ${reason}`, lineInFile(line), 'spec-yaml');
  }
  const lines = new Map(header.fields.map(({ key, line }) => [key, lineInFile(line)]));
  return {
    values: new Map(header.fields.map(({ key, value }) => [key, value])),
    lineOf: (field) => lines.get(field),
  };
}

const isBlank = (value: Value): boolean => typeof value !== 'string' || value.trim() === '';

/** Lengths are counted in code points. */
const lengthOf = (text: string): number => [...text].length;

function nameProblems(value: Value, folderName: string): string[] {
  if (isBlank(value)) return ["Field 'name' must be a non-empty string"];
  const name = (value as string).trim().normalize('NFKC');
  const length = lengthOf(name);
  const checks: [boolean, string][] = [
    [length > LONGEST_NAME, `Skill name '${name}' exceeds ${LONGEST_NAME} character limit (${length} chars)`],
    [name !== name.toLowerCase(), `Skill name '${name}' must be lowercase`],
    [name.startsWith('-') || name.endsWith('-'), 'Skill name cannot start or end with a hyphen'],
    [name.includes('--'), 'Skill name cannot contain consecutive hyphens'],
    [
      !/^[\p{L}\p{N}-]*$/u.test(name),
      `Skill name '${name}' contains invalid characters. Only letters, digits, and hyphens are allowed.`,
    ],
    [folderName.normalize('NFKC') !== name, `Directory name '${folderName}' must match skill name '${name}'`],
  ];
  return checks.filter(([wrong]) => wrong).map(([, message]) => message);
}

function descriptionProblems(value: Value): string[] {
  if (isBlank(value)) return ["Field 'description' must be a non-empty string"];
  const length = lengthOf(value as string);
  return length > LONGEST_DESCRIPTION
    ? [`Description exceeds ${LONGEST_DESCRIPTION} character limit (${length} chars)`]
    : [];
}

function compatibilityProblems(value: Value): string[] {
  if (typeof value !== 'string') return ["Field 'compatibility' must be a string"];
  const length = lengthOf(value);
  return length > LONGEST_COMPATIBILITY
    ? [`Compatibility exceeds ${LONGEST_COMPATIBILITY} character limit (${length} chars)`]
    : [];
}

/** Whether a name is one by the specification, wherever its folder is. */
export const isSpecificationName = (name: string): boolean => nameProblems(name, name).length === 0;

function withTexts(metadata: Value): Value {
  if (typeof metadata !== 'object' || Array.isArray(metadata)) return metadata;
  const entries = Object.entries(metadata);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;' };

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign]!);

const finding = (code: string, message: string, line?: number): Finding => ({
  severity: 'error',
  code,
  message,
  ...(line === undefined ? {} : { line }),
});

const invalid = (message: string): ReasonixError =>
  new ReasonixError('skill_invalid', message, { hint: 'see: reasonix skill lint --strict' });
