import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lintSkills } from '../../src/skills/lint/lint.ts';
import type { LintProblem } from '../../src/skills/lint/problem.ts';
import { SkillFolder } from './folder.ts';

let at: SkillFolder;
beforeEach(() => {
  at = new SkillFolder();
});
afterEach(() => at[Symbol.dispose]());

const HEADER = 'name: tidy\ndescription: Sorts the imports of a file. Use it when imports are a mess.';

async function lint(path: string): Promise<LintProblem[]> {
  return (await lintSkills({ library: at.options(), paths: [path] })).problems;
}

/** Code, line and message of each problem of a skill named tidy. */
async function problemsOf(body: string, header = HEADER): Promise<string[]> {
  const problems = await lint(at.skill('tidy', header, body));
  return problems.map(({ severity, code, line, message }) => `${severity} ${code} ${line ?? '-'}: ${message}`);
}

const codesOf = async (body: string, header = HEADER): Promise<string[]> =>
  (await problemsOf(body, header)).map((each) => each.split(' ')[1]!);

describe('a good skill', () => {
  it('has no problems', async () => {
    at.write('tidy/references/rules.md', 'x');
    at.write('tidy/scripts/sort.py', 'x');
    const body = '# Tidy\n\nRead [the rules](references/rules.md), then run `scripts/sort.py`.\n\n<<arguments>>\n';
    expect(await problemsOf(body)).toEqual([]);
  });
});

describe('header', () => {
  it('says what the parser found, with its line', async () => {
    const header =
      'name: other\ndescription: Use when: sorting the imports of a file\nallowed-tools: Read, Frobnicate, Twiddle';
    const problems = await problemsOf('Body\n', header);
    expect(problems).toContainEqual(expect.stringMatching(/^warning name-differs 2: .*"other".*"tidy"/));
    expect(problems).toContainEqual(expect.stringMatching(/^warning yaml-repaired 3: no valid YAML/));
    expect(problems.filter((each) => each.includes('unknown-tool'))).toEqual([
      'warning unknown-tool 4: allowed-tools names a tool that is not known: Frobnicate, Twiddle',
    ]);
  });

  it('names keys outside the specification once, as a note', async () => {
    const problems = await problemsOf('Body\n', `${HEADER}\nmodel: fast\ncontext: fork\nlicense: MIT\ncolour: red`);
    expect(problems).toEqual([expect.stringMatching(/^info key-extension 4: .*: model, context, colour$/)]);
  });

  it('asks about keys that look like a slip of the pen, above all restrictions', async () => {
    const problems = await problemsOf(
      'Body\n',
      `${HEADER}\nallowed-tool: Read\ndisable-model-invocatoin: true\nversion: 1`,
    );
    const asked = problems.filter((each) => each.includes('key-unknown'));
    expect(asked).toEqual([
      'warning key-unknown 4: allowed-tool means nothing here; did you mean allowed-tools?',
      'warning key-unknown 5: disable-model-invocatoin means nothing here; did you mean disable-model-invocation?',
    ]);
  });

  it('A08: counts a description after folding, in code points', async () => {
    const folded = (length: number): string =>
      `name: tidy\ndescription: >-\n  When ${'é'.repeat(length / 2 - 5)}\n  ${'😀'.repeat(length / 2 - 1)}`;
    expect(await codesOf('Body\n', folded(1024))).toEqual([]);
    const problems = await problemsOf('Body\n', folded(1026));
    expect(problems).toEqual([expect.stringMatching(/^warning description-long 3: .* 1026 characters/)]);
  });

  it.each([
    ['TODO: write this', 'description-vague'],
    ['Replace with description of the skill and when to use it.', 'description-vague'],
    ['Tidy skill', 'description-vague'],
    ['A helper for tidy', 'description-vague'],
    ['Does imports.', 'description-vague'],
    ['整理', 'description-vague'],
    ['Sorts and groups the imports of TypeScript files.', 'description-when'],
  ])('finds "%s" vague', async (description, code) => {
    expect(await codesOf('Body\n', `name: tidy\ndescription: "${description}"`)).toEqual([code]);
  });

  it.each([
    'Sorts the imports of a file. Use when they are a mess.',
    'Use this to sort imports before a commit.',
    '当用户要求整理导入语句时使用',
    'インポートの整理が必要なときに使用する',
    'Ordena los imports. Usar cuando el archivo está desordenado.',
  ])('takes "%s"', async (description) => {
    expect(await codesOf('Body\n', `name: tidy\ndescription: "${description}"`)).toEqual([]);
  });

  it('does not ask when to use what only people start', async () => {
    const header = 'name: tidy\ndescription: Sorts and groups the imports of files.\ndisable-model-invocation: true';
    expect(await codesOf('Body\n', header)).toEqual(['key-extension']);
  });

  it('notes what other programs read differently', async () => {
    const codes = await codesOf('Body\n', `${HEADER}\nargument-hint: [file]`);
    expect(codes).toEqual(['key-extension', 'value-type']);
    const [problem] = await lint(at.skill('1.0', 'name: 1.0\ndescription: Use it when it is time to do so.'));
    expect(problem).toMatchObject({ severity: 'info', code: 'name-not-specified', line: 2 });
    const marked = at.write('tidy/SKILL.md', `\uFEFF---\n${HEADER}\n---\nBody\n`);
    expect((await lint(marked)).map(({ code }) => code)).toEqual(['byte-order-mark']);
  });
});

describe('body', () => {
  it('is empty, long or too long', async () => {
    expect(await codesOf('\n')).toEqual(['body-empty']);
    expect(await codesOf('line\n'.repeat(500))).toEqual([]);
    expect(await problemsOf('line\n'.repeat(501))).toEqual([expect.stringMatching(/^info body-long -: .*501 lines/)]);
    expect(await problemsOf('word '.repeat(4_001))).toEqual([
      expect.stringMatching(/^info body-long -: .*5001 tokens/),
    ]);
    expect(await problemsOf('é'.repeat(50_001))).toEqual([
      expect.stringMatching(/^warning body-long -: .*100002 bytes/),
    ]);
  });

  it('G05: holds comments, which are a note, not in code', async () => {
    const body = 'Text\n<!-- do X\nsecretly -->\n`<!-- a -->`\n```html\n<!-- b -->\n```\n<!---->\n';
    expect(await problemsOf(body)).toEqual([
      'info html-comment 6: 2 HTML comments, which models read and rendered pages hide: "do X secretly"',
    ]);
  });

  it('names arguments that nothing declares, where arguments are used', async () => {
    const body = '<<topic>> <<depht>> \\<<shown>> <<depht>> `<<code>>`\n<<EOF\n';
    expect(await codesOf(body)).toEqual([]);
    const problems = await problemsOf(body, `${HEADER}\narguments: [topic, depth]`);
    expect(problems.filter((each) => each.includes('placeholder'))).toEqual([
      expect.stringMatching(/^warning placeholder-unknown 6: <<depht>> is not filled/),
    ]);
    expect(await codesOf('<<arguments>> and <<more>>\n')).toEqual(['placeholder-unknown']);
  });
});

describe('dead links', () => {
  const dead = async (body: string): Promise<string[]> =>
    (await problemsOf(body))
      .filter((each) => each.includes('dead-link'))
      .map((each) => each.replace(/^warning dead-link /, ''));

  it('finds links and paths that lead to nothing, once each', async () => {
    at.write('tidy/references/a b.md', 'x');
    at.write('tidy/images/x(1).png', 'x');
    const body = [
      '[a](references/a%20b.md#part) [b](<references/a b.md>) ![c](images/x(1).png "title") [self](SKILL.md)',
      '[gone](references/gone.md) and [gone](references/gone.md#twice), `references/away.md`',
      '[folder](docs/) [up](../nobody/SKILL.md)',
      '[ref]: ./missing.txt',
    ].join('\n');
    expect(await dead(body)).toEqual([
      '6: dead link: references/gone.md',
      '6: dead link: references/away.md',
      '7: dead link: docs/',
      '7: dead link: ../nobody/SKILL.md',
      '8: dead link: ./missing.txt',
    ]);
  });

  it.each([
    ['the web', '[a](https://example.com/x.md) [b](mailto:x@y.z) [c](//host/x.md) [d](www.example.com/x.md)'],
    ['anchors and absolute paths', '[a](#part) [b](/etc/none.md) [c](~/none.md) [d](?x=1.md)'],
    [
      'what the reader fills in',
      '[a](references/{name}.md) [b](<path>/x.md) [c](docs/*.md) [d](path/to/file.md) [e]($X/y.md)',
    ],
    ['code', '`[a](gone.md)`\n```md\n[b](gone.md)\n```\n~~~~\n[c](gone.md)\n~~~\n[d](gone.md)\n~~~~\n'],
    ['comments', '<!-- [a](gone.md) -->'],
    ['words in brackets', '[T](x) [name](value) array[i](j) [docs](some/page)'],
    ["the user's project", 'Run `scripts/build.sh` and `assets/logo.svg`, then see `src/x.ts`.'],
  ])('leaves %s alone', async (_, body) => {
    expect(await dead(body)).toEqual([]);
  });

  it('counts the rest when there are many', async () => {
    const body = Array.from({ length: 40 }, (_, index) => `[x](references/${index}.md)`).join('\n');
    const problems = await dead(body);
    expect(problems).toHaveLength(11);
    expect(problems.at(-1)).toBe('15: 30 further dead links');
  });
});

describe('targets', () => {
  const pathsOf = async (...paths: string[]): Promise<string[]> => {
    const { problems } = await lintSkills({ library: at.options(), paths });
    return [...new Set(problems.map(({ path }) => path.slice(at.path.length + 1)))].sort();
  };
  const ODD = 'description: Sorts imports of files.';

  it('are the skill of a folder, and skills inside, not its other texts', async () => {
    at.skill('all', ODD);
    at.skill('all/inner', ODD);
    at.write('all/guide.md', `---\n${ODD}\n---\nx`);
    at.write('all/references/SKILL.md', `---\n${ODD}\n---\nx`);
    expect(await pathsOf('../all')).toEqual(['all/SKILL.md', 'all/inner/SKILL.md']);
    expect(await pathsOf('../all/SKILL.md', '../all/SKILL.md')).toEqual(['all/SKILL.md']);
    expect(await pathsOf('../all/guide.md')).toEqual(['all/guide.md']);
  });

  it('are the skills of a project, in the folders of all products', async () => {
    for (const folder of ['.claude/skills/a', '.agents/skills/b', '.reasonix/skills/deep/c', 'skills/d'])
      at.skill(`p/${folder}`, ODD);
    at.write('p/.claude/agents/e.md', `---\n${ODD}\nmodel: x\n---\nx`);
    at.write('p/README.md', '# No skill');
    at.write('p/notes.md', '# None either');
    expect(await pathsOf('../p')).toEqual([
      'p/.agents/skills/b/SKILL.md',
      'p/.claude/agents/e.md',
      'p/.claude/skills/a/SKILL.md',
      'p/.reasonix/skills/deep/c/SKILL.md',
      'p/skills/d/SKILL.md',
    ]);
  });

  it("are the project's and the user's own skills without a path, shadowed ones too, built-ins not", async () => {
    at.skill('project/.claude/skills/mine', ODD);
    at.skill('home/.reasonix/skills/mine', ODD);
    at.skill('custom/theirs', ODD);
    at.skill('builtin/ours', ODD);
    const library = at.options({ paths: [join(at.path, 'custom')], builtins: join(at.path, 'builtin') });
    const { files, problems } = await lintSkills({ library });
    expect(files).toBe(3);
    const places = problems.filter(({ code }) => code === 'description-when').map(({ path }) => path);
    expect(places.map((path) => path.slice(at.path.length + 1)).sort()).toEqual([
      'custom/theirs/SKILL.md',
      'home/.reasonix/skills/mine/SKILL.md',
      'project/.claude/skills/mine/SKILL.md',
    ]);
  });

  it('that are not there, or hold no skill, are errors', async () => {
    mkdirSync(join(at.path, 'empty'));
    at.write('docs/guide.md', '# No skill');
    at.write('x.txt', 'x');
    const { problems } = await lintSkills({
      library: at.options(),
      paths: ['../gone', '../empty', '../x.txt', '../docs'],
    });
    expect(problems.map(({ severity, code }) => `${severity} ${code}`)).toEqual([
      'error path',
      'error no-skill',
      'error path',
      'error no-skill',
    ]);
    const strict = await lintSkills({
      library: at.options(),
      paths: ['../gone', '../empty', '../x.txt'],
      strict: true,
    });
    expect(strict.problems.map(({ message }) => message.replace(at.path, ''))).toEqual([
      'Path does not exist: /gone',
      'Missing required file: SKILL.md',
      'Not a directory: /x.txt',
    ]);
  });

  it('with one name in one folder are told', async () => {
    at.skill('s/a', HEADER.replace('tidy', 'same'));
    at.skill('s/b', HEADER.replace('tidy', 'same'), 'Other\n');
    const { problems } = await lintSkills({ library: at.options(), paths: [dirname(join(at.path, 's/a'))] });
    expect(problems.filter(({ code }) => code === 'name-collision')).toHaveLength(1);
  });

  it('strict says what the validator says about each', async () => {
    at.skill('s/good', HEADER.replace('tidy', 'good'));
    at.skill('s/bad', `${HEADER}\nmodel: x`);
    const { problems, files } = await lintSkills({ library: at.options(), paths: ['../s'], strict: true });
    expect(files).toBe(2);
    expect(problems.map(({ severity, code, line, fixable }) => [severity, code, line, fixable])).toEqual([
      ['error', 'spec-fields', 4, false],
      ['error', 'spec-name', 2, true],
    ]);
  });
});

describe('output-schema', () => {
  it('is an error when no answer can be held against it, and a warning where nothing is checked', async () => {
    const subagent = `${HEADER}\nrunAs: subagent\n`;
    expect(await problemsOf('Body\n', `${subagent}output-schema: {type: strin}`)).toContainEqual(
      expect.stringMatching(/^error schema-unusable 5: the output-schema cannot be used: schema is invalid/),
    );
    expect(await codesOf('Body\n', `${subagent}output-schema: {type: object}`)).not.toContain('schema-unusable');
    expect(await problemsOf('Body\n', `${HEADER}\noutput-schema: {type: object}`)).toContainEqual(
      expect.stringMatching(/^warning schema-inline 4: /),
    );
  });
});
