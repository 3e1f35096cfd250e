import { isDeepStrictEqual } from 'node:util';
import type { Field } from '../front-matter.ts';
import { keyOf, ruleOf } from '../keys.ts';
import { type ParsedSkill, parseSkill, type SkillPlace } from '../parse.ts';
import type { Skill } from '../types.ts';
import { readEncoded } from './encoded-text.ts';
import { type HeaderEdit, HeaderLines } from './header-lines.ts';
import { betterName } from './name-fix.ts';
import { isTypedScalar } from './typed-scalars.ts';
import { foldedBlock, quotedScalar } from './yaml-scalar.ts';

export interface Fix {
  bytes: Buffer;
  /** In the order they were made; lines are those of the file at that moment. */
  edits: HeaderEdit[];
}

export interface FixOptions {
  /** Whether another skill has this name already. */
  isTaken(name: string): boolean;
  /** Whether another skill calls this one by its name, which then has to stay. */
  isCalled(name: string): boolean;
}

/** More edits than a header has lines in practice. */
const MOST_EDITS = 100;

/**
 * Repairs the quoting of texts in a front matter, and the name. Every edit is read back before it
 * counts: the body must be the same, and so must every key but the repaired one, restrictions first of
 * all. `undefined` when there is nothing to repair, or the file could not be written back byte for byte.
 */
export async function planFix(bytes: Uint8Array, place: SkillPlace, options: FixOptions): Promise<Fix | undefined> {
  const encoded = readEncoded(bytes);
  if (encoded === undefined) return undefined;
  let text = encoded.text;
  let parsed = await parseSkill(text, place);
  const edits: HeaderEdit[] = [];
  for (;;) {
    const next = await nextEdit(text, parsed, place, options);
    if (next === undefined) break;
    // without an end in sight the second run would go on: better not to begin
    if (edits.length === MOST_EDITS) return undefined;
    edits.push(next.edit);
    text = next.text;
    parsed = next.parsed;
  }
  return edits.length === 0 ? undefined : { bytes: encoded.encode(text), edits };
}

interface Candidate {
  field: Field | undefined;
  edit: HeaderEdit;
  /** Keys of the skill that may differ afterwards. */
  changes: readonly (keyof Skill)[];
}

async function nextEdit(
  text: string,
  parsed: ParsedSkill,
  place: SkillPlace,
  options: FixOptions,
): Promise<{ edit: HeaderEdit; text: string; parsed: ParsedSkill } | undefined> {
  if (parsed.bodyStart === 0 || parsed.skill === undefined) return undefined;
  const lines = new HeaderLines(text, parsed.bodyStart);
  for (const candidate of candidates(parsed, lines, place, options)) {
    const changed = lines.apply(candidate.edit);
    const after = await parseSkill(changed, place);
    if (isImprovement(parsed, after, candidate)) return { edit: candidate.edit, text: changed, parsed: after };
  }
  return undefined;
}

function* candidates(
  parsed: ParsedSkill,
  lines: HeaderLines,
  place: SkillPlace,
  options: FixOptions,
): Generator<Candidate> {
  for (const field of parsed.fields) {
    if (field.unreadable) continue;
    yield* narrowColon(field, lines);
    if (field.repaired) yield* repairs(field, parsed.fields, lines);
    else if (needsQuotes(field)) yield* quotesInPlace(field, lines);
    else if (field.cut) yield* quotesAroundAll(field, lines);
  }
  yield* names(parsed, lines, place, options);
}

/** Texts that are no valid YAML as they stand: in quotes, or as a folded block when they have lines. */
function* repairs(field: Field, fields: readonly Field[], lines: HeaderLines): Generator<Candidate> {
  const key = keyOf(field.key);
  if (typeof field.value !== 'string' || (key !== undefined && ruleOf(key).kind !== 'text')) return;
  const below = fields.filter(({ line }) => line > field.line).map(({ line }) => line);
  let end = Math.min(lines.end, ...below);
  while (end > field.line + 1 && lines.at(end - 1).trim() === '') end--;
  const before = lines.slice(field.line, end);
  // what a merge left behind is not for a program to clear away
  if (before.some((line) => /^(?:<{7}|={7}|>{7}|\|{7}|\.\.\.)/.test(line))) return;
  if (key === undefined && !isPlainText(field.raw, before.slice(1))) return;
  const prefix = /^[ \t]*["']?[\w.-]+["']?/.exec(before[0]!)?.[0];
  if (prefix === undefined) return;
  const own = [before[0]!.slice(prefix.length).replace(/^[ \t]*[:\uFF1A]/, ''), ...before.slice(1)];
  const value = field.value.trim();
  const block = foldedBlock(own, value);
  const spellings = [...(block === undefined ? [] : [block]), [quotedScalar(value)]];
  for (const [first, ...more] of spellings) {
    const after = [`${prefix}: ${first}`, ...more];
    yield { field, edit: { line: field.line, before, after }, changes: [] };
  }
}

/** The colon of Chinese and Japanese keyboards ends no key for YAML. */
function* narrowColon(field: Field, lines: HeaderLines): Generator<Candidate> {
  const line = lines.at(field.line);
  const match = /^([ \t]*["']?[\w.-]+["']?[ \t]*)\uFF1A[ \t]*(.*)$/.exec(line);
  if (match === null) return;
  yield {
    field,
    edit: { line: field.line, before: [line], after: [`${match[1]}: ${match[2]}`.trimEnd()] },
    changes: [],
  };
}

/** Lists and mappings of keys that mean nothing here stay as they are. */
const isPlainText = (raw: string, below: readonly string[]): boolean =>
  !/^[[{|>]/.test(raw) && below.every((line) => /^[ \t]+(?!- )[^:]*$/.test(line) || line.trim() === '');

/** Texts that are something else to a YAML reader with types. */
function needsQuotes(field: Field): boolean {
  const key = keyOf(field.key);
  if (key === 'name' || key === 'description') return isTypedScalar(field);
  return key === 'argument-hint' && typeof field.value !== 'string';
}

function* quotesInPlace(field: Field, lines: HeaderLines): Generator<Candidate> {
  const line = lines.at(field.line);
  const at = line.indexOf(field.raw, line.indexOf(':'));
  if (at < 0 || field.raw === '') return;
  const after = line.slice(0, at) + quotedScalar(field.raw) + line.slice(at + field.raw.length);
  yield { field, edit: { line: field.line, before: [line], after: [after] }, changes: [] };
}

/** Shorter ones may be meant as comments: `# 1`, `# todo`. */
const SHORTEST_TAIL = 30;

/** `Uses the ## heading format so that …` ends at the sign for YAML; whole sentences after it are no comment. */
function* quotesAroundAll(field: Field, lines: HeaderLines): Generator<Candidate> {
  if (keyOf(field.key) !== 'description' || field.value === '') return;
  const line = lines.at(field.line);
  const match = /^([^:]*:[ \t]+)(.*\S)[ \t]*$/.exec(line);
  const tail = / #+(.*)$/.exec(line)?.[1] ?? '';
  if (match === null || (/^\s/.test(tail) && tail.length < SHORTEST_TAIL)) return;
  const after = match[1]! + quotedScalar(match[2]!);
  yield { field, edit: { line: field.line, before: [line], after: [after] }, changes: ['description'] };
}

function* names(
  parsed: ParsedSkill,
  lines: HeaderLines,
  place: SkillPlace,
  { isTaken, isCalled }: FixOptions,
): Generator<Candidate> {
  const written = parsed.fields.filter(({ key }) => keyOf(key) === 'name');
  const [field, second] = written;
  if (second !== undefined || (field !== undefined && typeof field.value !== 'string')) return;
  if (field === undefined && (place.layout !== 'folder' || parsed.fields.length === 0)) return;
  const value = field?.value as string | undefined;
  const name = betterName(value, place);
  if (name === undefined || isTaken(name) || (value !== undefined && isCalled(value.trim()))) return;
  if (field === undefined) {
    const line = Math.min(...parsed.fields.map((each) => each.line));
    const indent = /^[ \t]*/.exec(lines.at(line))![0];
    yield { field, edit: { line, before: [], after: [`${indent}name: ${nameScalar(name)}`] }, changes: ['name'] };
    return;
  }
  const line = lines.at(field.line);
  const match = /^([ \t]*["']?[\w-]+["']?[ \t]*:)(?:[ \t]*)(.*?)([ \t]+#.*)?$/.exec(line);
  const whole = match !== null && (match[2]!.trim() === field.raw || field.raw === '');
  if (match === null || !whole) return;
  const comment = match[3] ?? '';
  // a plain value before a comment looks like one that was cut
  const after = `${match[1]} ${comment === '' ? nameScalar(name) : quotedScalar(name)}${comment}`;
  yield { field, edit: { line: field.line, before: [line], after: [after] }, changes: ['name'] };
}

const nameScalar = (name: string): string =>
  isTypedScalar({ raw: name, value: name }) || !/^[\p{L}\p{N}]/u.test(name) ? quotedScalar(name) : name;

/** What changes with every byte, or says where the skill came from. */
const INCIDENTAL: readonly (keyof Skill)[] = ['stamp', 'diagnostics', 'shadows'];

function isImprovement(before: ParsedSkill, after: ParsedSkill, { field, changes }: Candidate): boolean {
  if (after.skill === undefined || after.bodyStart === 0 || after.body !== before.body) return false;
  const ignored = new Set<string>([...INCIDENTAL, ...changes]);
  const meaning = ({ skill }: ParsedSkill): unknown =>
    Object.entries(skill ?? {}).filter(([key, value]) => !ignored.has(key) && value !== undefined);
  if (!isDeepStrictEqual(meaning(before), meaning(after))) return false;
  const edited = field?.key ?? 'name';
  const others = ({ fields }: ParsedSkill): unknown =>
    fields.filter(({ key }) => key !== edited).map(({ key, value, unreadable }) => [key, value, unreadable]);
  if (!isDeepStrictEqual(others(before), others(after))) return false;
  return !hasNewProblem(before, after);
}

function hasNewProblem(before: ParsedSkill, after: ParsedSkill): boolean {
  const count = ({ diagnostics }: ParsedSkill, wanted: string): number =>
    diagnostics.filter(({ code }) => code === wanted).length;
  return after.diagnostics.some(({ code }) => count(after, code) > count(before, code));
}
