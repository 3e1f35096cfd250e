import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findSkillFile, readStrict, strictFindings, strictProblems, toPrompt } from '../../src/skills/lint/strict.ts';
import { SkillFolder } from './folder.ts';

/** What the reference validator of the Agent Skills specification answered to the same input. */

let at: SkillFolder;
beforeEach(() => {
  at = new SkillFolder();
});
afterEach(() => at[Symbol.dispose]());

const VALID: readonly string[] = [];
const INVALID_YAML = 'Invalid YAML in frontmatter: ';
const UNEXPECTED = (fields: string): string =>
  `Unexpected fields in frontmatter: ${fields}. Only ['allowed-tools', 'compatibility', 'description', 'license', 'metadata', 'name'] are allowed.`;
const INVALID_NAME = (name: string): string =>
  `Skill name '${name}' contains invalid characters. Only letters, digits, and hyphens are allowed.`;

/** Writes a SKILL.md into a folder of this name and returns the folder. */
function folderWith(name: string, content: string, file = 'SKILL.md'): string {
  at.write(join(name, file), content);
  return join(at.path, name);
}

const skill = (header: string, body = '# Body\n'): string => `---\n${header}\n---\n${body}`;
const named = (name: string, more = 'description: A test skill'): string => skill(`name: ${name}\n${more}`);

async function expectProblems(folder: string, wanted: readonly string[]): Promise<void> {
  const problems = await strictProblems(folder);
  const isYaml = wanted.length === 1 && wanted[0] === INVALID_YAML;
  if (isYaml) {
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^Invalid YAML in frontmatter: \S/);
  } else expect(problems).toEqual(wanted);
}

/** The validator's parser answers with an error text; ours is the one finding of `strictProblems`. */
describe('parser (15): readStrict, strictProblems and findSkillFile', () => {
  it('valid_frontmatter: both values, and the body does not matter', async () => {
    const folder = folderWith('my-skill', named('my-skill'));
    expect(await readStrict(folder)).toEqual({ name: 'my-skill', description: 'A test skill' });
  });

  it.each([
    ['missing_frontmatter', '# No frontmatter here', 'SKILL.md must start with YAML frontmatter (---)'],
    [
      'unclosed_frontmatter',
      '---\nname: my-skill\ndescription: A',
      'SKILL.md frontmatter not properly closed with ---',
    ],
    ['invalid_yaml', skill('name: [invalid\ndescription: broken'), INVALID_YAML],
    ['non_dict_frontmatter', skill('- just\n- a\n- list'), 'SKILL.md frontmatter must be a YAML mapping'],
  ])('%s', async (_, content, message) => {
    const folder = folderWith('my-skill', content);
    await expectProblems(folder, [message]);
    await expect(readStrict(folder)).rejects.toThrow(message);
  });

  it('read_valid_skill', async () => {
    const folder = folderWith('my-skill', named('my-skill', 'description: A test skill\nlicense: MIT'));
    expect(await readStrict(folder)).toEqual({ name: 'my-skill', description: 'A test skill', license: 'MIT' });
  });

  it('read_with_metadata: values are text', async () => {
    const header = 'description: A test skill\nmetadata:\n  author: Test Author\n  version: 1.0';
    const { metadata } = await readStrict(folderWith('my-skill', named('my-skill', header)));
    expect(metadata).toEqual({ author: 'Test Author', version: '1.0' });
  });

  it('missing_skill_md', async () => {
    mkdirSync(join(at.path, 'empty'));
    await expect(readStrict(join(at.path, 'empty'))).rejects.toThrow(`SKILL.md not found in ${join(at.path, 'empty')}`);
  });

  it.each([
    ['missing_name', 'description: A test skill', 'Missing required field in frontmatter: name'],
    ['missing_description', 'name: my-skill', 'Missing required field in frontmatter: description'],
  ])('%s', async (_, header, message) => {
    const folder = folderWith('my-skill', skill(header));
    await expect(readStrict(folder)).rejects.toThrow(message);
    await expectProblems(folder, [message]);
  });

  it('find prefers the file in capitals', () => {
    folderWith('both', named('both'));
    const folder = folderWith('both', named('both'), 'skill.md');
    expect(findSkillFile(folder)).toBe(join(folder, 'SKILL.md'));
  });

  it('find accepts the file in small letters, and no other spelling', () => {
    const folder = folderWith('lower', named('lower'), 'skill.md');
    expect(findSkillFile(folder)).toBe(join(folder, 'skill.md'));
    expect(findSkillFile(folderWith('mixed', named('mixed'), 'Skill.md'))).toBeUndefined();
  });

  it('find finds nothing', () => {
    mkdirSync(join(at.path, 'none'));
    expect(findSkillFile(join(at.path, 'none'))).toBeUndefined();
  });

  it('read with the file in small letters', async () => {
    const folder = folderWith('my-skill', named('my-skill'), 'skill.md');
    expect((await readStrict(folder)).name).toBe('my-skill');
  });

  it('allowed-tools is kept as one text under that key', async () => {
    const header = 'description: A test skill\nallowed-tools: Bash(jq:*) Bash(git:*)';
    const properties = await readStrict(folderWith('my-skill', named('my-skill', header)));
    expect(properties['allowed-tools']).toBe('Bash(jq:*) Bash(git:*)');
  });
});

describe('prompt (4): toPrompt', () => {
  it('empty list: the empty element on two lines', async () => {
    expect(await toPrompt([])).toBe('<available_skills>\n</available_skills>');
  });

  it('one skill: each tag and each value on a line', async () => {
    const folder = folderWith('my-skill', named('my-skill'));
    const lines = ['<available_skills>', '<skill>', '<name>', 'my-skill', '</name>', '<description>', 'A test skill'];
    const rest = ['</description>', '<location>', join(folder, 'SKILL.md'), '</location>', '</skill>'];
    expect(await toPrompt([folder])).toBe([...lines, ...rest, '</available_skills>'].join('\n'));
  });

  it('two skills: two elements, in their order', async () => {
    const folders = ['skill-b', 'skill-a'].map((name) => folderWith(name, named(name)));
    const prompt = await toPrompt(folders);
    expect(prompt.match(/^<skill>$/gm)).toHaveLength(2);
    expect(prompt.indexOf('\nskill-b\n')).toBeLessThan(prompt.indexOf('\nskill-a\n'));
    expect(prompt).toContain('\nskill-a\n');
  });

  it('special characters are escaped', async () => {
    const folder = folderWith('special', named('special', `description: Use <foo> & "bar" 'tags'`));
    const prompt = await toPrompt([folder]);
    expect(prompt).toContain('\nUse &lt;foo&gt; &amp; &quot;bar&quot; &#x27;tags&#x27;\n');
    expect(prompt).not.toContain('<foo>');
  });
});

describe('validator (21): strictProblems', () => {
  it('nonexistent_path', async () => {
    const path = join(at.path, 'nonexistent');
    await expectProblems(path, [`Path does not exist: ${path}`]);
  });

  it('not_a_directory', async () => {
    const path = at.write('file.txt', 'test');
    await expectProblems(path, [`Not a directory: ${path}`]);
  });

  it('missing_skill_md', async () => {
    mkdirSync(join(at.path, 'empty'));
    await expectProblems(join(at.path, 'empty'), ['Missing required file: SKILL.md']);
  });

  const long = 'a'.repeat(70);
  const CASES: [test: string, folder: string, content: string, wanted: readonly string[]][] = [
    ['valid_skill', 'my-skill', named('my-skill'), VALID],
    ['uppercase', 'MySkill', named('MySkill'), ["Skill name 'MySkill' must be lowercase"]],
    ['name_too_long', long, named(long), [`Skill name '${long}' exceeds 64 character limit (70 chars)`]],
    ['leading_hyphen', '-my-skill', named('-my-skill'), ['Skill name cannot start or end with a hyphen']],
    ['consecutive_hyphens', 'my--skill', named('my--skill'), ['Skill name cannot contain consecutive hyphens']],
    ['invalid_characters', 'my_skill', named('my_skill'), [INVALID_NAME('my_skill')]],
    [
      'directory_mismatch',
      'wrong-name',
      named('correct-name'),
      ["Directory name 'wrong-name' must match skill name 'correct-name'"],
    ],
    [
      'unexpected_fields',
      'my-skill',
      named('my-skill', 'description: A test skill\nunknown_field: should not be here'),
      [UNEXPECTED('unknown_field')],
    ],
    [
      'all fields',
      'my-skill',
      named('my-skill', 'description: A test skill\nlicense: MIT\nmetadata:\n  author: Test'),
      VALID,
    ],
    [
      'allowed_tools',
      'my-skill',
      named('my-skill', 'description: A test skill\nallowed-tools: Bash(jq:*) Bash(git:*)'),
      VALID,
    ],
    ['i18n Chinese', '技能', named('技能', 'description: A skill with Chinese name'), VALID],
    ['i18n Russian hyphen', 'мой-навык', named('мой-навык'), VALID],
    ['i18n Russian lower', 'навык', named('навык'), VALID],
    ['i18n Russian upper', 'НАВЫК', named('НАВЫК'), ["Skill name 'НАВЫК' must be lowercase"]],
    [
      'description_too_long',
      'my-skill',
      named('my-skill', `description: ${'x'.repeat(1100)}`),
      ['Description exceeds 1024 character limit (1100 chars)'],
    ],
    [
      'compatibility ok',
      'my-skill',
      named('my-skill', 'description: A test skill\ncompatibility: Requires Python 3.11+'),
      VALID,
    ],
    [
      'compatibility_too_long',
      'my-skill',
      named('my-skill', `description: A test skill\ncompatibility: ${'x'.repeat(550)}`),
      ['Compatibility exceeds 500 character limit (550 chars)'],
    ],
    ['nfkc: folder composed, name decomposed', 'caf\u00e9', named('cafe\u0301'), VALID],
  ];
  it.each(CASES)('%s', async (_, folder, content, wanted) => {
    await expectProblems(folderWith(folder, content), wanted);
  });
});

describe('46 further recorded answers', () => {
  const x = (count: number): string => 'x'.repeat(count);
  const TEXT = 'description: A test skill';
  const CASES: [title: string, folder: string, content: string, wanted: readonly string[]][] = [
    ['name 123', '123', named('123'), VALID],
    ['name a', 'a', named('a'), VALID],
    ['name of 64', x(64), named(x(64)), VALID],
    ['name true', 'true', named('true'), VALID],
    ['name null', 'null', named('null'), VALID],
    ['name of 65', x(65), named(x(65)), [`Skill name '${x(65)}' exceeds 64 character limit (65 chars)`]],
    ['name a.b', 'a.b', named('a.b'), [INVALID_NAME('a.b')]],
    ['name a b', 'a b', named('a b'), [INVALID_NAME('a b')]],
    ['name emoji', 'a😀', named('a😀'), [INVALID_NAME('a😀')]],
    ['name en dash', 'a–b', named('a–b'), [INVALID_NAME('a–b')]],
    ['name 1.0', '1.0', named('1.0'), [INVALID_NAME('1.0')]],
    ['name a-', 'a-', named('a-'), ['Skill name cannot start or end with a hyphen']],
    ['name 中文', '中文', named('中文'), VALID],
    ['name dotless i', 'ı', named('ı'), VALID],
    ['name a²', 'a²', named('a²'), VALID],
    ['name fullwidth, folder fullwidth', 'ａｂ', named('ａｂ'), VALID],
    ['name fullwidth, folder ascii', 'ab', named('ａｂ'), VALID],
    ['description with a colon', 'a', named('a', 'description: Use when: foo'), [INVALID_YAML]],
    ['description of 1024', 'a', named('a', `description: ${x(1024)}`), VALID],
    [
      'description of 1025',
      'a',
      named('a', `description: ${x(1025)}`),
      ['Description exceeds 1024 character limit (1025 chars)'],
    ],
    ['description blank', 'a', named('a', 'description: "  "'), ["Field 'description' must be a non-empty string"]],
    [
      'description list',
      'a',
      named('a', 'description:\n  - x\n  - y'),
      ["Field 'description' must be a non-empty string"],
    ],
    ['allowed-tools block list', 'a', named('a', `${TEXT}\nallowed-tools:\n  - Read\n  - Bash`), VALID],
    ['allowed-tools flow list', 'a', named('a', `${TEXT}\nallowed-tools: [Read, Bash]`), [INVALID_YAML]],
    ['metadata nested', 'a', named('a', `${TEXT}\nmetadata:\n  a:\n    b: c`), VALID],
    ['metadata scalar', 'a', named('a', `${TEXT}\nmetadata: foo`), VALID],
    ['compatibility empty', 'a', named('a', `${TEXT}\ncompatibility: ""`), VALID],
    ['compatibility of 500', 'a', named('a', `${TEXT}\ncompatibility: ${x(500)}`), VALID],
    [
      'compatibility of 501',
      'a',
      named('a', `${TEXT}\ncompatibility: ${x(501)}`),
      ['Compatibility exceeds 500 character limit (501 chars)'],
    ],
    ['license list', 'a', named('a', `${TEXT}\nlicense:\n  - MIT\n  - Apache-2.0`), VALID],
    ['CRLF', 'a', named('a').replaceAll('\n', '\r\n'), VALID],
    ['BOM', 'a', `\uFEFF${named('a')}`, ['SKILL.md must start with YAML frontmatter (---)']],
    ['blank line before', 'a', `\n${named('a')}`, ['SKILL.md must start with YAML frontmatter (---)']],
    ['dashes in a value', 'a', named('a', 'description: a --- b'), VALID],
    ['closing fence at the end', 'a', `---\nname: a\n${TEXT}\n---`, VALID],
    ['empty front matter', 'a', '---\n---\nBody\n', ['SKILL.md frontmatter must be a YAML mapping']],
    ['duplicate key', 'a', named('a', `${TEXT}\n${TEXT}`), [INVALID_YAML]],
    ['name empty', 'a', named(''), ["Field 'name' must be a non-empty string"]],
    ['description folded', 'a', named('a', 'description: >\n  a\n  b'), VALID],
    ['description literal', 'a', named('a', 'description: |\n  a\n  b'), VALID],
    ['comments', 'a', named('a # the name', `# about it\n${TEXT}`), VALID],
    ['anchor', 'a', named('&n a'), [INVALID_YAML]],
    ['tag', 'a', named('!!str a'), [INVALID_YAML]],
    [
      'many at once',
      'Foo',
      skill(`name: -Bar--_x\ndescription: ${x(1100)}`),
      [
        "Skill name '-Bar--_x' must be lowercase",
        'Skill name cannot start or end with a hyphen',
        'Skill name cannot contain consecutive hyphens',
        INVALID_NAME('-Bar--_x'),
        "Directory name 'Foo' must match skill name '-Bar--_x'",
        'Description exceeds 1024 character limit (1100 chars)',
      ],
    ],
    ['context and model', 'a', named('a', `${TEXT}\nmodel: inherit\ncontext: fork`), [UNEXPECTED('context, model')]],
  ];

  it('are all here, with the file in small letters below', () => {
    expect(CASES).toHaveLength(45);
  });

  it.each(CASES)('%s', async (_, folder, content, wanted) => {
    await expectProblems(folderWith(folder, content), wanted);
  });

  it('only skill.md', async () => {
    await expectProblems(folderWith('a', named('a'), 'skill.md'), VALID);
  });

  it('what is read of the multi-line ones', async () => {
    const of = async (header: string): Promise<string> =>
      (await readStrict(folderWith('a', named('a', header)))).description;
    expect(await of('description: >\n  a\n  b')).toBe('a b');
    expect(await of('description: |\n  a\n  b')).toBe('a\nb');
    // the reference splits inside the value; the specification knows whole lines only
    expect(await of('description: a --- b')).toBe('a --- b');
  });
});

describe('what else the validator does', () => {
  it('takes the path of the SKILL.md itself', async () => {
    const folder = folderWith('wrong', named('right'));
    const wanted = ["Directory name 'wrong' must match skill name 'right'"];
    expect(await strictProblems(join(folder, 'SKILL.md'))).toEqual(wanted);
    expect(await toPrompt([join(folder, 'SKILL.md')])).toContain(join(folder, 'SKILL.md'));
  });

  it('names the line of what it found', async () => {
    const folder = folderWith('a', named('a', 'description: x\nmodel: y\ncompatibility:\n  - z'));
    expect(await strictFindings(folder)).toEqual([
      { severity: 'error', code: 'spec-fields', line: 4, message: UNEXPECTED('model') },
      { severity: 'error', code: 'spec-compatibility', line: 5, message: "Field 'compatibility' must be a string" },
    ]);
  });

  it.each([
    ['an alias', 'license: &x MIT\nmetadata:\n  a: *x'],
    ['a flow mapping', 'metadata: {a: b}'],
    ['a tab in a plain value', 'license: a\tb'],
    ['a doubled key inside', 'metadata:\n  a: 1\n  a: 2'],
    ['mappings of uneven indentation', 'metadata:\n    a: 1\nlicense:\n  b: 2'],
    ['a block sign with text after it', 'license: |x'],
  ])('refuses %s', async (_, more) => {
    await expectProblems(folderWith('a', named('a', `description: x\n${more}`)), [INVALID_YAML]);
  });

  it.each([
    ['quotes', `license: 'it''s'`],
    ['a folded block', 'license: >-\n  a\n  b'],
    ['a comment below', 'license: MIT\n# the end'],
    ['mappings of even indentation', 'metadata:\n  a: 1\nlicense:\n  b: 2'],
  ])('takes %s', async (_, more) => {
    await expectProblems(folderWith('a', named('a', `description: x\n${more}`)), VALID);
  });

  it('survives bytes that are no text', async () => {
    at.write('a/SKILL.md', new Uint8Array([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe, 0x00]));
    expect(await strictProblems(join(at.path, 'a'))).toEqual(['SKILL.md must be UTF-8 text']);
  });
});
