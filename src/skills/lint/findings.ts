import { decode } from '../decode.ts';
import type { Field } from '../front-matter.ts';
import { keyOf } from '../keys.ts';
import type { ParsedSkill, SkillPlace } from '../parse.ts';
import { commentFindings, placeholderFindings, sizeFindings } from './body-findings.ts';
import { descriptionFindings } from './description.ts';
import { hiddenFindings } from './hidden-findings.ts';
import { keyFindings } from './keys-findings.ts';
import { deadLinks } from './links.ts';
import { readMarkdown } from './markdown.ts';
import { type Finding, lineFinder } from './problem.ts';
import { secretFindings } from './secrets.ts';
import { isSpecificationName } from './strict.ts';
import { isTypedScalar } from './typed-scalars.ts';

/** Everything there is to say about a parsed file, by line. Reads no other file, but looks whether linked ones exist. */
export function findingsOf(parsed: ParsedSkill, bytes: Uint8Array, place: SkillPlace): Finding[] {
  const { skill, text, body, bodyStart, fields } = parsed;
  const lineOf = lineFinder(text);
  const inBody = (offset: number): number => lineOf(bodyStart + offset);
  const markdown = readMarkdown(body);
  const findings: Finding[] = [
    ...diagnosed(parsed),
    ...markFindings(bytes),
    ...keyFindings(fields),
    ...hiddenFindings(text, lineOf),
    ...secretFindings(text, lineOf),
    ...commentFindings(markdown, inBody),
  ];
  if (skill !== undefined) {
    const descriptionLine = fields.find(({ key }) => keyOf(key) === 'description')?.line;
    if (descriptionLine !== undefined) findings.push(...descriptionFindings(skill, descriptionLine));
    findings.push(
      ...nameFindings(fields, place),
      ...typeFindings(fields),
      ...sizeFindings(body),
      ...placeholderFindings(skill, markdown, inBody),
      ...deadLinks(markdown, { folder: skill.folder, ownFolder: place.layout === 'folder', lineOf: inBody }),
    );
  }
  return findings.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

/** What the parser said; names of unknown tools in one list are one problem. */
function diagnosed({ diagnostics }: ParsedSkill): Finding[] {
  const findings: Finding[] = [];
  for (const { severity, code, line, message } of diagnostics) {
    const before =
      code === 'unknown-tool' ? findings.findLast((each) => each.code === code && each.line === line) : undefined;
    if (before === undefined) findings.push({ severity, code, line, message });
    else before.message += `, ${message.slice(message.indexOf(': ') + 2)}`;
  }
  return findings;
}

/** Decoding takes it away in silence, but it keeps other programs from finding the front matter. */
function markFindings(bytes: Uint8Array): Finding[] {
  if (bytes[0] !== 0xef || bytes[1] !== 0xbb || bytes[2] !== 0xbf) return [];
  const message = 'the file starts with a byte order mark; other programs will not find its front matter';
  return decode(bytes).encoding === 'utf-8' ? [{ severity: 'info', code: 'byte-order-mark', line: 1, message }] : [];
}

/** What of a name that works here the specification does not know. */
function nameFindings(fields: readonly Field[], place: SkillPlace): Finding[] {
  if (place.layout !== 'folder' || fields.length === 0) return [];
  const name = fields.find(({ key }) => keyOf(key) === 'name');
  if (name === undefined) {
    const message = 'no name: the one of its folder is used, but other programs want it written';
    return [{ severity: 'info', code: 'name-missing', message }];
  }
  if (typeof name.value !== 'string' || name.value.trim() === '' || isSpecificationName(name.value)) return [];
  const message = 'the specification allows lower-case letters, digits and single hyphens in a name, at most 64';
  return [{ severity: 'info', code: 'name-not-specified', line: name.line, message }];
}

/** Values that are text here, and something else to programs that read YAML with types. */
function typeFindings(fields: readonly Field[]): Finding[] {
  return fields.flatMap((field) => {
    const key = keyOf(field.key);
    const typed = (key === 'name' || key === 'description') && isTypedScalar(field);
    const list = key === 'argument-hint' && typeof field.value !== 'string';
    if (!typed && !list) return [];
    const what = list ? 'a list' : 'no text';
    const message = `${field.key} is ${what} to other programs: put quotes around the value`;
    return [{ severity: 'info' as const, code: 'value-type', line: field.line, message }];
  });
}
