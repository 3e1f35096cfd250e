import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintSkills } from '../../src/skills/lint/lint.ts';
import { parseSkill } from '../../src/skills/parse.ts';
import { processorTime } from '../helpers/processor-time.ts';
import { CORPUS, edgeRows, HAS_CORPUS, markdownFiles } from './corpus.ts';
import { SkillFolder } from './folder.ts';

const nowhere = { cwd: '/nowhere', home: '/nowhere', reasonixHome: '/nowhere/.reasonix' };
const codesOf = async (file: string): Promise<string[]> =>
  (await lintSkills({ library: nowhere, paths: [file] })).problems.map(({ code }) => code);

describe.skipIf(!HAS_CORPUS)('lint of public skills', () => {
  it('looks at every file, each in less than a second, and never throws', async () => {
    const files = markdownFiles(CORPUS);
    expect(files.length).toBeGreaterThan(1_000);
    let looked = 0;
    for (const file of files) {
      const start = processorTime();
      const { problems } = await lintSkills({ library: nowhere, paths: [file] });
      const strict = await lintSkills({ library: nowhere, paths: [file], strict: true });
      expect(processorTime() - start, file).toBeLessThan(2_000);
      looked++;
      for (const problem of [...problems, ...strict.problems]) {
        expect(
          `${problem.path}/`.startsWith(`${basename(file) === 'SKILL.md' ? dirname(file) : file}/`),
          problem.path,
        ).toBe(true);
        expect(problem.message, file).not.toMatch(/undefined|\[object|NaN/);
        if (problem.line !== undefined) expect(problem.line).toBeGreaterThan(0);
      }
    }
    expect(looked).toBe(files.length);
  }, 240_000);

  it('raises no alarm at honest files', async () => {
    const files = markdownFiles(join(CORPUS, 'libraries'));
    const alarms: string[] = [];
    for (const file of files) {
      const { problems } = await lintSkills({ library: nowhere, paths: [file] });
      for (const { severity, code, message, path } of problems) {
        const rare = [
          'secret',
          'hidden-text',
          'key-unknown',
          'placeholder-unknown',
          'invisible-character',
          'bidi-control',
        ];
        if (severity === 'error' || rare.includes(code)) alarms.push(`${path}: ${code} ${message}`);
      }
    }
    expect(alarms).toEqual([]);
  }, 240_000);

  const CODES: [kind: RegExp, code: string][] = [
    [/^yaml: (?!argument-hint|other)/, 'yaml-repaired'],
    [/^silent: description cut/, 'comment-in-value'],
    [/^silent: argument-hint/, 'value-type'],
    [/^front matter: unterminated/, 'fence-unclosed'],
    [/^front matter: (?:comment|blank)-before/, 'fence-not-first'],
    [/^UTF-8 BOM/, 'byte-order-mark'],
    [/^description > 1024/, 'description-long'],
    [/^name differs/, 'name-differs'],
    [/^body empty/, 'body-empty'],
    [/^very large/, 'body-long'],
    [/^Unicode tag/, 'hidden-text'],
    [/^U\+2028/, 'line-separator'],
  ];
  const rows = edgeRows().flatMap(({ kind, path }) => {
    const code = CODES.find(([pattern]) => pattern.test(kind))?.[1];
    return code === undefined ? [] : [[kind, path, code] as const];
  });
  it.each(rows)('%s: %s gets %s', async (_, path, code) => {
    expect(await codesOf(join(CORPUS, path))).toContain(code);
  });

  it('repairs what it can without a byte of a body or a restriction changed, once', async () => {
    const at = new SkillFolder();
    try {
      const copy = join(at.path, 'copy');
      cpSync(CORPUS, copy, { recursive: true });
      const files = markdownFiles(copy);
      const before = new Map(files.map((file) => [file, readFileSync(file)]));
      const report = await lintSkills({ library: at.options(), paths: files, fix: true });
      expect(report.problems.filter(({ code }) => code === 'fix-failed')).toEqual([]);
      expect(report.fixed.length).toBeGreaterThan(40);
      const fixed = new Set(report.fixed.map(({ path }) => path));
      for (const file of files) {
        const [old, now] = [before.get(file)!, readFileSync(file)];
        expect(now.equals(old), file).toBe(!fixed.has(file));
        if (!fixed.has(file)) continue;
        const place = { file, scope: 'custom', root: dirname(file), layout: 'folder' } as const;
        const [was, is] = await Promise.all([parseSkill(old, place), parseSkill(now, place)]);
        expect(is.body, file).toBe(was.body);
        const restrictions = ({ skill }: typeof was): unknown => {
          const { allowedTools, disallowedTools, readOnly, invocation, disableModelInvocation, limits, runAs } = skill!;
          return [allowedTools, disallowedTools, readOnly, invocation, disableModelInvocation, limits, runAs];
        };
        expect(restrictions(is), file).toEqual(restrictions(was));
      }
      expect((await lintSkills({ library: at.options(), paths: files, fix: true })).fixed).toEqual([]);
      expect(readdirSync(copy, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tmp'))).toEqual(
        [],
      );
    } finally {
      at[Symbol.dispose]();
    }
  }, 240_000);
});
