import { chmodSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lintSkills } from '../../src/skills/lint/lint.ts';
import type { LintProblem } from '../../src/skills/lint/problem.ts';
import { SkillFolder } from './folder.ts';

let at: SkillFolder;
beforeEach(() => {
  at = new SkillFolder();
});
afterEach(() => at[Symbol.dispose]());

const SKILL = 'project/.reasonix/skills/a';
const HEADER = 'name: a\ndescription: Formats the reports of a team. Use when somebody asks for one.';
/** In parts, so that no file here holds what looks like a secret. */
const KEY = ['ghp', 'aB3dE7gH2kLm9NpQ4rSt6UvWy8zAcBdEf5gH'].join('_');

async function problems(more: { strict?: boolean } = {}): Promise<LintProblem[]> {
  const found = await lintSkills({ library: at.options(), paths: [join(at.path, 'project')], ...more });
  return found.problems;
}

const places = (found: readonly LintProblem[]): string[] =>
  found.map(
    ({ code, path, line }) => `${code} ${path.slice(at.path.length + SKILL.length + 2)}${line ? `:${line}` : ''}`,
  );

describe('lint of what comes with a skill', () => {
  it('finds secrets and hidden text in references, scripts and hidden files', async () => {
    at.skill(SKILL, HEADER);
    at.write(`${SKILL}/references/api.md`, `# API\n\ncurl -H "Authorization: ${KEY}"\n`);
    at.write(`${SKILL}/scripts/run.sh`, `#!/bin/sh\necho ab\u202Ecd\n`);
    at.write(`${SKILL}/.env`, `TOKEN=${KEY}\n`);
    at.write(`${SKILL}/references/utf16.md`, Buffer.from(`\ufeffx\u200by\n`, 'utf16le'));
    at.write(`${SKILL}/assets/logo.png`, Buffer.from([0x89, 0x50, 0, 0xe2, 0x80, 0xae]));
    at.write(`${SKILL}/.git/config`, `url = https://${KEY}@example.org\n`);
    at.write(`${SKILL}/node_modules/x/index.js`, KEY);
    at.write(`${SKILL}/notes.txt`, '👨‍👩‍👧 and می‌خواهم, all honest\n');
    const found = await problems();
    expect(places(found)).toEqual([
      'secret .env:1',
      'secret references/api.md:3',
      'invisible-character references/utf16.md:1',
      'bidi-override scripts/run.sh:2',
    ]);
    expect(JSON.stringify(found)).not.toContain(KEY.slice(8));
    expect(await problems({ strict: true })).toEqual([]);
  });

  it('leaves the files of a skill inside to that skill, and says each once', async () => {
    at.skill(SKILL, HEADER);
    at.skill(`${SKILL}/inner`, HEADER.replace(': a', ': inner'));
    at.write(`${SKILL}/inner/key.txt`, KEY);
    symlinkSync('.', join(at.path, SKILL, 'again'));
    expect(places(await problems())).toEqual([]);
    const inner = await lintSkills({ library: at.options(), paths: [join(at.path, SKILL, 'inner')] });
    expect(places(inner.problems)).toEqual(['secret inner/key.txt:1']);
  });

  it('says what was not searched', async () => {
    at.skill(SKILL, HEADER);
    at.write(`${SKILL}/data.txt`, `${'x'.repeat(1_000_001)}${KEY}`);
    for (let index = 0; index < 405; index++) at.write(`${SKILL}/references/${index}.txt`, '');
    const found = await problems();
    expect(found.map(({ severity, message }) => `${severity}: ${message}`)).toEqual([
      expect.stringMatching(/^info: \d+ files in the skill's folder not searched/),
    ]);
    expect(places(found)).toEqual(['files-unread ']);
  });

  it.skipIf(process.getuid?.() === 0)('passes over what cannot be read', async () => {
    at.skill(SKILL, HEADER);
    chmodSync(at.write(`${SKILL}/closed.txt`, KEY), 0o000);
    expect(await problems()).toEqual([]);
  });
});
