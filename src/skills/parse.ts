import { basename, dirname } from 'node:path';
import { decode, withoutMark } from './decode.ts';
import { findFrontMatter } from './fence.ts';
import { type Field, readFrontMatter } from './front-matter.ts';
import { contentHashOf } from './hash.ts';
import { toSkill } from './kept-header.ts';
import { keyOf } from './keys.ts';
import { judgeName, normalName } from './names.ts';
import { type HeaderValues, readHeader } from './read-header.ts';
import type { Diagnostic, Skill, SkillScope } from './types.ts';

/** Where a skill file stands; it decides what the file itself does not say. */
export interface SkillPlace {
  /** Absolute path of the markdown file. */
  file: string;
  scope: SkillScope;
  root: string;
  layout: Skill['layout'];
  /** Name of the plugin that brings it: it goes before the skill's own, with a colon. */
  plugin?: string | undefined;
}

export interface ParsedSkill {
  /** Absent only when neither front matter nor path give a name that can be used. */
  skill?: Skill | undefined;
  /** The decoded file. */
  text: string;
  /** Where the body starts in `text`. Everything from there on is the body, unchanged. */
  bodyStart: number;
  body: string;
  /** At least one key of the front matter means something here. */
  hasKnownKey: boolean;
  /** Every entry of the front matter, the unknown ones too. */
  fields: readonly Field[];
  diagnostics: Diagnostic[];
  /** Of the bytes: equal for equal files. */
  contentHash: string;
}

const LONGEST_DESCRIPTION = 1024;

/** Parses a skill file. Never throws: whatever is odd about it is a diagnostic. */
export async function parseSkill(input: Uint8Array | string, place: SkillPlace): Promise<ParsedSkill> {
  const diagnostics: Diagnostic[] = [];
  const report = (
    code: string,
    line: number | undefined,
    message: string,
    severity: Diagnostic['severity'] = 'warning',
  ): void => {
    diagnostics.push({ severity, code, path: place.file, message, ...(line === undefined ? {} : { line }) });
  };
  const text = textOf(input, report);
  const { fields, bodyStart } = await headerOf(text, report);
  const values = readHeader(fields, (code, field, message, severity) => report(code, field?.line, message, severity));
  const body = text.slice(bodyStart);
  const contentHash = await contentHashOf(input);
  const parsed = { text, bodyStart, body, hasKnownKey: values.hasKnownKey, fields, diagnostics, contentHash };
  const name = nameOf(values, fields, place, report);
  if (name === undefined) return parsed;
  const description = descriptionOf(values, fields, body, report);
  const skill = skillOf({ name, description, values, place, diagnostics, contentHash });
  for (const diagnostic of diagnostics) diagnostic.skill = name;
  return { ...parsed, skill };
}

type Report = (code: string, line: number | undefined, message: string, severity?: Diagnostic['severity']) => void;

function textOf(input: Uint8Array | string, report: Report): string {
  if (typeof input === 'string') return withoutMark(input);
  const { text, encoding, lossy } = decode(input);
  if (lossy)
    report('encoding-broken', undefined, `some bytes are no ${encoding.toUpperCase()}; "\uFFFD" stands for each`);
  else if (encoding !== 'utf-8') {
    report('encoding', undefined, `the file is ${encoding.toUpperCase()}; other programs expect UTF-8`, 'info');
  }
  return text;
}

async function headerOf(text: string, report: Report): Promise<{ fields: Field[]; bodyStart: number }> {
  const fenced = findFrontMatter(text);
  const without = { fields: [], bodyStart: 0 };
  const reportNotes = (): void => {
    for (const note of fenced.notes) report(note.code, note.line, note.message, note.severity);
  };
  if (fenced.header === undefined) {
    reportNotes();
    return without;
  }
  const { fields, fault } = await readFrontMatter(fenced.header, fenced.headerLine);
  const means = fields?.some((field) => keyOf(field.key) !== undefined) ?? false;
  // prose between two rules is no front matter, and neither is prose that only holds a colon
  if (fields === undefined || ((fault !== undefined || fenced.rescued) && !means)) {
    if (fenced.rescued) reportNotes();
    else
      report(
        'no-mapping',
        fenced.headerLine,
        'the text between the "---" lines is no front matter: it is part of the body',
        'info',
      );
    return without;
  }
  reportNotes();
  if (fault !== undefined) {
    report('yaml-repaired', fault.line, `no valid YAML (${oneLine(fault.reason)}): read field by field`);
  }
  return { fields, bodyStart: fenced.bodyStart };
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 200);

function nameOf(values: HeaderValues, fields: readonly Field[], place: SkillPlace, report: Report): string | undefined {
  const fromPath = normalName(nameInPath(place));
  const line = fields.find((field) => keyOf(field.key) === 'name')?.line;
  const written = values.name === undefined ? undefined : normalName(values.name);
  const verdict = written === undefined ? undefined : judgeName(written);
  if (verdict?.use === 'no') report('name-invalid', line, `the name ${verdict.reason}: "${fromPath}" is used instead`);
  if (written !== undefined && verdict?.use !== 'no') {
    if (verdict?.use === 'odd')
      report('name-odd', line, `the name ${verdict.reason}; it works by exactly "${written}"`);
    if (written !== fromPath && place.layout !== 'agent') {
      report(
        'name-differs',
        line,
        `the name is "${written}", but its ${place.layout === 'folder' ? 'folder' : 'file'} is "${fromPath}"`,
      );
    }
    return withPlugin(written, place);
  }
  const pathVerdict = judgeName(fromPath);
  if (pathVerdict.use === 'no') {
    report(
      'name-unusable',
      line,
      `skipped: neither front matter nor path give a usable name (the path's ${pathVerdict.reason})`,
      'error',
    );
    return undefined;
  }
  if (pathVerdict.use === 'odd')
    report('name-odd', line, `the name ${pathVerdict.reason}; it works by exactly "${fromPath}"`);
  return withPlugin(fromPath, place);
}

const nameInPath = (place: SkillPlace): string =>
  place.layout === 'folder' ? basename(dirname(place.file)) : basename(place.file).replace(/(?:\.agent)?\.md$/i, '');

const withPlugin = (name: string, place: SkillPlace): string =>
  place.plugin === undefined ? name : `${place.plugin}:${name}`;

function descriptionOf(values: HeaderValues, fields: readonly Field[], body: string, report: Report): string {
  const line = fields.find((field) => keyOf(field.key) === 'description')?.line;
  const description = values.description ?? firstParagraph(body);
  if (values.description === undefined) {
    const instead =
      description === '' ? 'and the body has no text to take one from' : 'the first paragraph of the body stands in';
    report('description-missing', line, `no description: ${instead}`);
  }
  const length = description.length > LONGEST_DESCRIPTION ? [...description].length : 0;
  if (length > LONGEST_DESCRIPTION) {
    report('description-long', line, `the description has ${length} characters, more than ${LONGEST_DESCRIPTION}`);
  }
  return description;
}

/** The first paragraph that is no heading, code, comment, table or rule; else the first heading. At most 1,024 characters. */
function firstParagraph(body: string): string {
  const start = body
    .slice(0, 16_384)
    .replace(/<!--[\s\S]*?(?:-->|$)/g, '')
    .replace(/^(```|~~~)[\s\S]*?(?:^\1|$(?![\s\S]))/gm, '');
  const paragraphs = start.split(/(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)/).map((each) => each.trim());
  const prose = paragraphs.map(withoutHeadings).find((each) => each !== '' && !/^(?:[-*_][ \t]*){3,}$|^\|/.test(each));
  const heading = paragraphs
    .find((each) => /^#{1,6}[ \t]/.test(each))
    ?.split(/\r|\n/)[0]
    ?.replace(/^#+[ \t]*/, '');
  return [...(prose ?? heading ?? '').replace(/\s+/g, ' ').trim()].slice(0, LONGEST_DESCRIPTION).join('');
}

const withoutHeadings = (paragraph: string): string =>
  paragraph.replace(/^(?:#{1,6}[ \t].*(?:\r\n|\n|\r|$))+/, '').trim();

interface SkillParts {
  name: string;
  description: string;
  values: HeaderValues;
  place: SkillPlace;
  diagnostics: Diagnostic[];
  contentHash: string;
}

function skillOf({ name, description, values, place, diagnostics, contentHash }: SkillParts): Skill {
  const isAgent = place.layout === 'agent';
  values.name = name;
  values.description = description;
  if (isAgent) values.runAs = 'subagent';
  values.invocation ??= isAgent ? 'manual' : 'auto';
  return toSkill({ contentHash, diagnostics }, values as HeaderValues & { name: string }, place, place);
}
