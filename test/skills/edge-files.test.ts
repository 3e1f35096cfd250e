import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadYaml, readStrictYaml } from '../../src/skills/front-matter.ts';
import type { ParsedSkill } from '../../src/skills/parse.ts';
import { CORPUS, edgeRows, HAS_CORPUS, parseFile } from './corpus.ts';
import { SkillFolder } from './folder.ts';

const rawHeader = (text: string): string => /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text)?.[1] ?? '';
/** The value as the author typed it on the key's own line. */
const typed = (text: string, key: string): string =>
  (new RegExp(`^${key}:[ \\t]*(.*?)[ \\t]*\\r?$`, 'm').exec(text)?.[1] ?? '').replace(/^["']|["']$/g, '');
const codes = (parsed: ParsedSkill): string[] => parsed.diagnostics.map(({ code }) => code);
const repairs = (parsed: ParsedSkill): ParsedSkill['diagnostics'] =>
  parsed.diagnostics.filter(({ code }) => code === 'yaml-repaired');

function recovered(parsed: ParsedSkill): void {
  expect(repairs(parsed)).toHaveLength(1);
  expect(repairs(parsed)[0]).toMatchObject({ path: expect.any(String), line: expect.any(Number) });
  const name = typed(rawHeader(parsed.text), 'name');
  if (name !== '') expect(parsed.skill?.name).toBe(name);
  expect(parsed.skill?.description).not.toBe('');
  expect(parsed.skill?.description).not.toMatch(/^[|>]/);
}

type Check = (parsed: ParsedSkill, file: string) => void | Promise<void>;

/** What is right for each class of file, as far as parsing and discovery go; rendering has its own tests. */
const CHECKS: [RegExp, Check][] = [
  [
    /^yaml: prose colon/,
    (parsed) => {
      recovered(parsed);
      expect(parsed.skill?.description).toBe(typed(parsed.text, 'description'));
      if (/^tools:/m.test(rawHeader(parsed.text))) {
        expect(parsed.skill?.allowedTools?.length).toBe(typed(parsed.text, 'tools').split(',').length);
      }
    },
  ],
  [
    /^yaml: rewriter/,
    (parsed) => {
      recovered(parsed);
      expect(parsed.skill?.description).toBe(typed(parsed.text, 'description').slice(2));
    },
  ],
  [
    /^yaml: vendor agent|^yaml: every agent/,
    (parsed) => {
      recovered(parsed);
      const keys = parsed.fields.map(({ key }) => key);
      expect(keys).not.toContain('user');
      expect(keys).not.toContain('assistant');
      expect(parsed.skill?.description.startsWith(typed(parsed.text, 'description').slice(0, 40))).toBe(true);
      if (/^tools:/m.test(rawHeader(parsed.text))) expect(parsed.skill?.allowedTools?.length).toBeGreaterThan(0);
    },
  ],
  [
    /^yaml: bad list under tools/,
    (parsed) => {
      recovered(parsed);
      expect(parsed.skill?.allowedTools).toEqual([{ tool: 'read_file' }, { tool: 'shell' }]);
      expect(codes(parsed)).toContain('tools-repaired');
    },
  ],
  [
    /^yaml: stray indented line|^yaml: quotes inside/,
    (parsed) => {
      recovered(parsed);
      expect(parsed.skill?.license).toBe(typed(parsed.text, 'license') || undefined);
      expect(parsed.skill?.allowedTools?.length).toBeGreaterThan(1);
    },
  ],
  [
    /^yaml: argument-hint/,
    (parsed) => {
      expect(parsed.skill?.argumentHint).toBe(typed(parsed.text, 'argument-hint'));
      expect(parsed.skill?.description).toBe(typed(parsed.text, 'description'));
    },
  ],
  [
    /^yaml: other/,
    async (parsed, file) => {
      const library = await loadYaml();
      const strict = readStrictYaml(library, rawHeader(readFileSync(file, 'utf8')).replaceAll('\r\n', '\n'));
      if (strict.fault !== undefined) recovered(parsed);
      expect(parsed.skill?.description).not.toBe('');
    },
  ],
  [
    /^silent: description cut/,
    (parsed) => expect([...codes(parsed), parsed.skill?.description]).toSatisfy(cutOrWhole(parsed)),
  ],
  [/^silent: argument-hint/, (parsed) => expect(parsed.skill?.argumentHint).toBe(typed(parsed.text, 'argument-hint'))],
  [
    /^silent: numeric/,
    (parsed) => expect(parsed.fields.find(({ key }) => key === 'version')?.value).toBe(typed(parsed.text, 'version')),
  ],
  [/^yaml alias/, (parsed) => expect(codes(parsed)).not.toContain('yaml-repaired')],
  [
    /^front matter: none/,
    (parsed) => {
      expect(parsed.bodyStart).toBe(0);
      expect(parsed.skill?.description).not.toMatch(/^#|^$/);
      expect(codes(parsed)).toContain('description-missing');
    },
  ],
  [
    /^front matter: unterminated/,
    (parsed) => {
      expect(parsed.bodyStart).toBe(0);
      expect(codes(parsed)).toContain('fence-unclosed');
      expect(parsed.skill?.name).toBe(typed(parsed.text, 'name'));
    },
  ],
  [/^front matter: no-open-delim/, (parsed) => expect(codes(parsed)).toContain('fence-missing')],
  [/^front matter: fenced/, (parsed) => expect(codes(parsed)).toContain('fence-in-code')],
  [
    /^front matter: (?:comment|blank)-before/,
    (parsed) => {
      expect(codes(parsed)).toContain('fence-not-first');
      expect(parsed.skill?.name).toBe(typed(parsed.text, 'name'));
      expect(parsed.body).not.toContain('\n---\nname:');
    },
  ],
  [
    /^naive split/,
    (parsed) => {
      const lines = parsed.text.split('\n');
      const closing = lines.findIndex((line, index) => index > 0 && /^---[ \t]*\r?$/.test(line));
      expect(parsed.body).toBe(lines.slice(closing + 1).join('\n'));
    },
  ],
  [/^UTF-8 BOM/, (parsed) => expect(parsed.text).toMatch(/^[-#]/)],
  [
    /^CRLF|^mixed line ends/,
    (parsed) => expect(JSON.stringify(parsed.fields.map(({ value }) => value))).not.toContain('\\r'),
  ],
  [/^description > 1024/, (parsed) => expect(codes(parsed)).toContain('description-long')],
  [/^description multi-line/, (parsed) => expect(parsed.skill?.description).not.toMatch(/^[|>]/)],
  [
    /^name with spaces/,
    (parsed) => {
      const written = typed(rawHeader(parsed.text), 'name');
      expect(parsed.skill?.name).toBe(written);
      if (!/^[\w.-]{1,64}$/.test(written)) expect(codes(parsed)).toContain('name-odd');
    },
  ],
  [
    /^name differs/,
    (parsed) => {
      const name = typed(rawHeader(parsed.text).replace(/^name: >-\n\s+/m, 'name: '), 'name');
      expect(parsed.skill?.name).toBe(name);
      expect(codes(parsed)).toContain('name-differs');
    },
  ],
  [
    /^runAs: subagent/,
    (parsed) => {
      expect(parsed.skill?.runAs).toBe('subagent');
      if (/^allowed-tools:/m.test(parsed.text)) expect(parsed.skill?.allowedTools?.length).toBeGreaterThan(0);
    },
  ],
  [/^context: fork/, (parsed) => expect(parsed.skill?.runAs).toBe('subagent')],
  [/^body empty/, (parsed) => expect(parsed.body.trim()).toBe('')],
  [/^U\+2028/, (parsed) => expect(codes(parsed)).not.toContain('yaml-repaired')],
];

const cutOrWhole = (parsed: ParsedSkill) => (): boolean =>
  codes(parsed).includes('comment-in-value') || parsed.skill!.description.includes(' #');

describe.skipIf(!HAS_CORPUS)('odd files of public libraries', () => {
  it.each(edgeRows().map(({ kind, path, right }) => [kind, path, right] as const))('%s: %s', async (kind, path) => {
    const file = join(CORPUS, path);
    const parsed = await parseFile(file);
    expect(parsed.skill?.name).toBeTruthy();
    expect(parsed.text.endsWith(parsed.body)).toBe(true);
    for (const diagnostic of parsed.diagnostics)
      expect(diagnostic).toMatchObject({ path: file, message: expect.stringMatching(/\S/) });
    for (const [pattern, check] of CHECKS) if (pattern.test(kind)) await check(parsed, file);
  });

  it('finds each of them, whatever its file is called, and stops at the outer skill', async () => {
    const at = new SkillFolder();
    try {
      for (const { kind, path } of edgeRows()) {
        const file = join(CORPUS, path);
        if (/^file named/.test(kind)) {
          const library = await at.open({ paths: [dirname(dirname(file))] });
          expect(library.skills.map((skill) => skill.file)).toContain(file);
        }
        if (/^nested skill/.test(kind)) {
          const library = await at.open({ paths: [dirname(file)] });
          expect(library.skills).toMatchObject([{ file }]);
        }
      }
    } finally {
      at[Symbol.dispose]();
    }
  });

  it('has a check for every class that parsing and discovery decide', () => {
    const elsewhere =
      /^(?:description holds|body holds|very large|one line|<<|\{\{|awk|\$&|zero-width|Unicode tag|control|file named|nested skill)/;
    const unchecked = new Set(
      edgeRows()
        .map(({ kind }) => kind)
        .filter((kind) => !elsewhere.test(kind) && !CHECKS.some(([pattern]) => pattern.test(kind))),
    );
    expect([...unchecked]).toEqual([]);
  });
});
