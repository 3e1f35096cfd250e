import { readFileSync } from 'node:fs';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { built, Workplace } from './workplace.ts';

let place: Workplace;
beforeAll(built);
beforeEach(() => {
  place = new Workplace();
});
afterEach(() => place.remove());

const GOOD = 'description: Tidies up. Use it when things lie about.';

describe('skill lint', () => {
  test('is content with good skills and says how many it saw', async () => {
    place.skill('tidy', GOOD);
    const { code, stdout, stderr } = await place.run(['skill', 'lint']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toBe('1 skill file, 0 errors, 0 warnings, 0 notes\n');
  });

  test('lists problems below their file, warnings are no failure', async () => {
    place.write('.reasonix/skills/tidy/SKILL.md', `---\nname: other\n${GOOD}\n---\nSee [it](references/gone.md).\n`);
    const { code, stdout, stderr } = await place.run(['skill', 'lint', '.reasonix/skills/tidy']);
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      '.reasonix/skills/tidy/SKILL.md',
      '  2     warning the name is "other", but its folder is "tidy"  name-differs, fixable',
      '  5     warning dead link: references/gone.md  dead-link',
      '',
    ]);
    expect(stderr).toBe('1 skill file, 0 errors, 2 warnings, 0 notes, --fix would repair 1\n');
  });

  test('fails for errors, and nothing in a file steers the terminal', async () => {
    place.skill('tidy', GOOD, 'x\u001b[31m\u{e0068}\u{e0069}');
    const { code, stdout } = await place.run(['skill', 'lint']);
    expect(code).toBe(1);
    expect(stdout).toContain('error   invisible Unicode tag characters that read "hi"');
    expect(stdout).not.toMatch(/\u001b|[\u{e0000}-\u{e007f}]/u);
  });

  test('--strict fails for what the specification forbids, in its words', async () => {
    place.skill('tidy', `${GOOD}\ncontext: fork`);
    expect((await place.run(['skill', 'lint'])).code).toBe(0);
    const { code, stdout } = await place.run(['skill', 'lint', '--strict']);
    expect(code).toBe(1);
    expect(stdout).toContain('Unexpected fields in frontmatter: context. Only [');
  });

  test('--json has the documented shape', async () => {
    const file = place.skill('tidy', 'description: Use it when: always.\nmodel: x');
    const { files, problems, fixed } = await place.json<{ files: number; problems: unknown[]; fixed: unknown[] }>([
      'skill',
      'lint',
      '--json',
    ]);
    expect({ files, fixed }).toEqual({ files: 1, fixed: [] });
    expect(problems).toEqual([
      {
        path: file,
        line: 3,
        severity: 'warning',
        code: 'yaml-repaired',
        message: expect.stringContaining('no valid YAML'),
        fixable: true,
      },
      {
        path: file,
        line: 4,
        severity: 'info',
        code: 'key-extension',
        message: expect.stringMatching(/: model$/),
        fixable: false,
      },
    ]);
  });

  test('--fix repairs, shows what it did, and has nothing to do the second time', async () => {
    const file = place.skill('tidy', 'description: Use it when: always.');
    const first = await place.run(['skill', 'lint', '--fix']);
    expect(first).toMatchObject({ code: 0, stderr: '1 skill file, 1 repaired, 0 errors, 0 warnings, 0 notes\n' });
    expect(first.stdout.split('\n')).toEqual([
      '.reasonix/skills/tidy/SKILL.md repaired',
      '  3     - description: Use it when: always.',
      '  3     + description: "Use it when: always."',
      '',
    ]);
    expect(readFileSync(file, 'utf8')).toBe('---\nname: tidy\ndescription: "Use it when: always."\n---\nDo it.\n');
    const second = await place.run(['skill', 'lint', '--fix']);
    expect(second).toMatchObject({ code: 0, stdout: '' });
  });

  test('shows notes of a few files, and counts them of many', async () => {
    for (let index = 0; index < 21; index++) place.skill(`s${index}`, `${GOOD}\nmodel: x`);
    const many = await place.run(['skill', 'lint']);
    expect(many.stdout).toBe('');
    expect(many.stderr).toContain('21 notes (see --json)');
    const few = await place.run(['skill', 'lint', '.reasonix/skills/s1']);
    expect(few.stdout).toContain('key-extension');
  });

  test('a path that is not there is an error', async () => {
    const { code, stdout } = await place.run(['skill', 'lint', 'gone']);
    expect(code).toBe(1);
    expect(stdout).toContain('there is no such file or folder');
  });
});
