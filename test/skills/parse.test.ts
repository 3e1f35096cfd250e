import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ParsedSkill, parseSkill, type SkillPlace } from '../../src/skills/parse.ts';
import type { Skill } from '../../src/skills/types.ts';

const PLACE: SkillPlace = { file: '/root/demo/SKILL.md', scope: 'project', root: '/root', layout: 'folder' };

const parse = (text: string | Uint8Array, place: Partial<SkillPlace> = {}): Promise<ParsedSkill> =>
  parseSkill(text, { ...PLACE, ...place });

async function skillOf(header: string, place: Partial<SkillPlace> = {}): Promise<Skill> {
  const { skill } = await parse(`---\nname: demo\ndescription: d\n${header}\n---\nBody`, place);
  return skill!;
}

const codes = ({ diagnostics }: { diagnostics: readonly { code: string }[] }): string[] =>
  diagnostics.map((each) => each.code);

describe('parseSkill', () => {
  it('reads an ordinary file without a word', async () => {
    const parsed = await parse('---\nname: demo\ndescription: Does it.\n---\n\n# Demo\n');
    expect(parsed.diagnostics).toEqual([]);
    expect(parsed.body).toBe('\n# Demo\n');
    expect(parsed.skill).toMatchObject({
      name: 'demo',
      description: 'Does it.',
      runAs: 'inline',
      invocation: 'auto',
      userInvocable: true,
      disableModelInvocation: false,
      readOnly: false,
      disallowedTools: [],
      limits: {},
      folder: '/root/demo',
    });
    expect(parsed.skill?.allowedTools).toBeUndefined();
  });

  it('A03 gives the same skill for every encoding and line end', async () => {
    const text = '---\nname: demo\ndescription: d 中\nmodel: m\n---\nBody\n';
    const expected = { ...(await parse(text)).skill, stamp: '', diagnostics: [] };
    const crlf = text.replaceAll('\n', '\r\n');
    for (const input of [`\uFEFF${text}`, `\uFEFF${crlf}`, crlf, text.replaceAll('\n', '\r')]) {
      for (const bytes of [Buffer.from(input), Buffer.from(`\uFEFF${input}`, 'utf16le')]) {
        const { skill, body } = await parse(bytes);
        expect({ ...skill, stamp: '', diagnostics: [] }).toEqual(expected);
        expect(body).toMatch(/^Body[\r\n]+$/);
      }
    }
  });

  it('A05 runs nothing', async () => {
    const parsed = await parse("---js\n{ name: (globalThis.HIT = 1, 'x'), description: 'd' }\n---\nBody");
    expect(globalThis).not.toHaveProperty('HIT');
    expect(parsed.skill?.name).toBe('demo');
    expect(parsed.bodyStart).toBe(0);
    expect(codes(parsed)).toContain('fence-language');
  });

  it('A12 leaves a document with rules whole, and keeps a good body below a broken header', async () => {
    const prose = '---\n\nJust prose\n\n---\nmore';
    expect(await parse(prose)).toMatchObject({
      body: prose,
      hasKnownKey: false,
      skill: { name: 'demo', description: 'Just prose' },
    });
    const broken = await parse('---\nname: demo\ndescription: "x\nmodel: [\n---\nGood body\n');
    expect(broken).toMatchObject({ body: 'Good body\n', skill: { name: 'demo' } });
    expect(broken.diagnostics).toMatchObject([{ code: 'yaml-repaired', path: PLACE.file, line: expect.any(Number) }]);
  });

  it('A08 loads long names and descriptions with a warning, counting code points after folding', async () => {
    const describe = async (description: string): Promise<string[]> =>
      codes(await parse(`---\nname: demo\ndescription: ${description}\n---\nB`));
    expect(await describe('é🎯'.repeat(512))).toEqual([]);
    expect(await describe('x'.repeat(1025))).toEqual(['description-long']);
    expect(await describe(`>\n  ${'ab '.repeat(400)}\n  ${'c'.repeat(10)}`)).toEqual(['description-long']);
    const long = await parse(`---\nname: ${'n'.repeat(65)}\ndescription: d\n---\nB`);
    expect(long.skill?.name).toBe('n'.repeat(65));
    expect(codes(long)).toContain('name-odd');
  });

  it('warns of a description that YAML cuts', async () => {
    const parsed = await parse('---\nname: demo\ndescription: about C # and more\n---\nB');
    expect(parsed.skill?.description).toBe('about C');
    expect(parsed.diagnostics).toMatchObject([{ code: 'comment-in-value', line: 3 }]);
  });

  it('takes the first paragraph for a missing description', async () => {
    const parsed = await parse(
      '---\nname: demo\n---\n# Title\n<!-- x -->\n```\ncode\n```\n\nFirst *line*\nsecond.\n\nMore.',
    );
    expect(parsed.skill?.description).toBe('First *line* second.');
    expect(codes(parsed)).toEqual(['description-missing']);
    expect((await parse('# Only a title')).skill?.description).toBe('Only a title');
    expect((await parse('')).skill).toMatchObject({ name: 'demo', description: '' });
  });

  it('does not take a nested description for its own', async () => {
    const parsed = await parse('---\nname: demo\nmetadata:\n  description: inner\n---\nOuter.');
    expect(parsed.skill).toMatchObject({ description: 'Outer.', metadata: { description: 'inner' } });
  });
});

describe('names', () => {
  const named = (name: string, place: Partial<SkillPlace> = {}): Promise<ParsedSkill> =>
    parse(`---\nname: ${name}\ndescription: d\n---\nB`, place);

  it.each(['翻译', 'daily-新闻', 'мой-навык', '933133', 'a.b_c', 'true'])('B06 takes %s as it is', async (name) => {
    const parsed = await named(name, { file: `/root/${name}/SKILL.md` });
    expect(parsed.skill?.name).toBe(name);
    expect(parsed.diagnostics).toEqual([]);
  });

  it.each(['Hook Development', 'a/b', 'x:y z', 'n'.repeat(65), '🎯'])('keeps %s, with a warning', async (name) => {
    const parsed = await named(name);
    expect(parsed.skill?.name).toBe(name);
    expect(codes(parsed)).toContain('name-odd');
  });

  it.each(['"\\u202Egnp"', '"a\\0b"', '..', '../../etc', '"a\\u200Bb"', 'n'.repeat(300)])(
    'refuses %s for the folder name',
    async (name) => {
      const parsed = await named(name);
      expect(parsed.skill?.name).toBe('demo');
      expect(codes(parsed)).toEqual(['name-invalid']);
    },
  );

  it('compares in NFC and prefers the front matter, with a warning', async () => {
    const same = await named('cafe\u0301', { file: '/root/caf\u00e9/SKILL.md' });
    expect(same.skill?.name).toBe('caf\u00e9');
    expect(same.diagnostics).toEqual([]);
    expect(codes(await named('other'))).toEqual(['name-differs']);
  });

  it('gives nothing when no name can be used', async () => {
    const parsed = await parse('Body', { file: '/root/\u202Egnp/SKILL.md' });
    expect(parsed.skill).toBeUndefined();
    expect(codes(parsed)).toContain('name-unusable');
  });

  it('puts the plugin before the name, and loads agents as manual sub-agents', async () => {
    expect((await named('x', { plugin: 'p' })).skill?.name).toBe('p:x');
    const agent = await parse('---\nname: a\ndescription: d\n---\nB', { file: '/r/a.md', layout: 'agent' });
    expect(agent.skill).toMatchObject({ runAs: 'subagent', invocation: 'manual', folder: '/r' });
  });
});

describe('A10 lists of tools', () => {
  it.each<[string, { tool: string; pattern?: string }[] | undefined]>([
    ['Read, Grep', [{ tool: 'read_file' }, { tool: 'grep' }]],
    ['Read Grep', [{ tool: 'read_file' }, { tool: 'grep' }]],
    ['[Read, Grep]', [{ tool: 'read_file' }, { tool: 'grep' }]],
    ['\n  - Read\n  - Grep', [{ tool: 'read_file' }, { tool: 'grep' }]],
    ['"Read Write Glob"', [{ tool: 'read_file' }, { tool: 'write_file' }, { tool: 'list_files' }]],
    [
      'Bash(git add *) Bash(git commit *)',
      [
        { tool: 'shell', pattern: 'git add *' },
        { tool: 'shell', pattern: 'git commit *' },
      ],
    ],
    ['Bash(git push *), WebFetch', [{ tool: 'shell', pattern: 'git push *' }, { tool: 'web_fetch' }]],
    ['Read,  Grep ,Bash', [{ tool: 'read_file' }, { tool: 'grep' }, { tool: 'shell' }]],
    ['[]', []],
    ['""', undefined],
    ['', undefined],
    ['~', undefined],
    ['\n  - - Read\n- Grep', [{ tool: 'read_file' }, { tool: 'grep' }]],
    ['[Read, Grep', [{ tool: 'read_file' }, { tool: 'grep' }]],
    ['Read\nBash is used too', [{ tool: 'read_file' }]],
    ['\n  - Read\nBash is used too', [{ tool: 'read_file' }]],
    ['{Read: {a: b}}', []],
    ['"Read: [x', []],
    ['|', undefined],
  ])('allowed-tools: %j', async (text, rules) => {
    for (const key of ['allowed-tools', 'tools', 'allowedTools', 'Allowed_Tools']) {
      expect((await skillOf(`${key}: ${text}`)).allowedTools).toEqual(rules);
    }
  });

  it('names a tool that nobody knows, and keeps it', async () => {
    const skill = await skillOf('allowed-tools: Read, Frobnicate');
    expect(skill.allowedTools).toEqual([{ tool: 'read_file' }, { tool: 'Frobnicate' }]);
    expect(skill.diagnostics).toMatchObject([
      { code: 'unknown-tool', line: 4, message: expect.stringContaining('Frobnicate') },
    ]);
  });

  it('allows only what every list allows', async () => {
    const skill = await skillOf('allowed-tools: Read, Bash, Grep\ntools: Bash(git *), mcp__*, Read');
    expect(skill.allowedTools).toEqual([{ tool: 'read_file' }, { tool: 'shell', pattern: 'git *' }]);
    expect(codes(skill)).toContain('duplicate-key');
  });

  it('refuses what a mapping switches off', async () => {
    const skill = await skillOf('tools:\n  write: false\n  read: true');
    expect(skill).toMatchObject({ allowedTools: undefined, disallowedTools: [{ tool: 'write_file' }] });
  });

  it('takes what a mapping switches on for the list that its name says', async () => {
    const allowed = await skillOf('allowed-tools: {read: true, shell: false}');
    expect(allowed).toMatchObject({ allowedTools: [{ tool: 'read_file' }], disallowedTools: [] });
    expect((await skillOf('allowed-tools: {}')).allowedTools).toEqual([]);
    const refused = await skillOf('disallowed-tools: {shell: true, read: false}');
    expect(refused).toMatchObject({ allowedTools: undefined, disallowedTools: [{ tool: 'shell' }] });
  });
});

describe('restrictions', () => {
  it.each<[string, Partial<Skill>]>([
    ['disable-model-invocation: maybe', { disableModelInvocation: true }],
    ['disable-model-invocation: [x]', { disableModelInvocation: true }],
    ['user-invocable: perhaps', { userInvocable: false }],
    ['read-only: "ja"', { readOnly: true }],
    ['runAs: somewhere', { runAs: 'subagent' }],
    ['invocation: sometimes', { invocation: 'manual' }],
    ['isolation: bubble', { isolation: 'worktree' }],
    ['allowed-tools: {a: {b: c}}', { allowedTools: [] }],
    ['disallowed-tools: {a: {b: c}}', { disallowedTools: [{ tool: '*' }] }],
    ['max-steps: many', { limits: { maxSteps: 1 } }],
    ['max-steps: 0', { limits: { maxSteps: 1 } }],
    ['max-steps: -5', { limits: { maxSteps: 1 } }],
    ['max-tokens: lots', { limits: { maxTokens: 1 } }],
    ['max-cost: cheap', { limits: { maxCost: 0 } }],
    ['max-depth: deep', { limits: { maxDepth: 0 } }],
    ['timeout: soon', { limits: { timeout: 1 } }],
  ])('%s is taken at its narrowest, with a diagnostic', async (header, expected) => {
    const skill = await skillOf(header);
    expect(skill).toMatchObject(expected);
    expect(codes(skill)).toContain('unreadable-value');
  });

  it.each<[string, Partial<Skill>]>([
    ['disable-model-invocation: yes', { disableModelInvocation: true }],
    ['disableModelInvocation: 1', { disableModelInvocation: true }],
    ['disable_model_invocation: on', { disableModelInvocation: true }],
    ['disable-model-invocation: No', { disableModelInvocation: false }],
    ['disable-model-invocation:', { disableModelInvocation: false }],
    ['user-invokable: off', { userInvocable: false }],
    ['readOnly: TRUE', { readOnly: true }],
    ['permissionMode: plan', { readOnly: true }],
    ['runAs: subagent', { runAs: 'subagent' }],
    ['run_as: Sub-Agent', { runAs: 'subagent' }],
    ['runAs: inline', { runAs: 'inline' }],
    ['context: fork', { runAs: 'subagent' }],
    ['context: whatever', { runAs: 'inline' }],
    ['agent: Explore', { runAs: 'subagent' }],
    ['agent:', { runAs: 'inline' }],
    ['max-turns: 7', { limits: { maxSteps: 7 } }],
    ['max-tokens: 50k', { limits: { maxTokens: 50_000 } }],
    ['max-cost: $0.50', { limits: { maxCost: 0.5 } }],
    ['max-depth: 0', { limits: { maxDepth: 0 } }],
    ['timeout: 90', { limits: { timeout: 90_000 } }],
    ['timeout: 1h30m', { limits: { timeout: 5_400_000 } }],
    ['timeout: 500ms', { limits: { timeout: 500 } }],
    ['max-steps: unlimited', { limits: {} }],
    ['model: inherit', { model: undefined }],
    ['model: null', { model: undefined }],
    ['effort: ~', { effort: undefined }],
    ['argument-hint: Null', { argumentHint: undefined }],
    ['disallowedTools: [Bash]', { disallowedTools: [{ tool: 'shell' }] }],
  ])('reads %s', async (header, expected) => {
    const skill = await skillOf(header);
    expect(skill).toMatchObject(expected);
    expect(skill.diagnostics).toEqual([]);
  });

  it('adds up what is written more than once', async () => {
    const skill = await skillOf(
      'max-steps: 9\nread-only: false\nmetadata:\n  reasonix.max-steps: 4\n  reasonix.read-only: true\n  reasonix.runAs: subagent',
    );
    expect(skill).toMatchObject({ limits: { maxSteps: 4 }, readOnly: true, runAs: 'subagent' });
    const nested = await skillOf(
      'metadata: {reasonix: {allowed-tools: Read, disable-model-invocation: true}, author: x}',
    );
    expect(nested).toMatchObject({ allowedTools: [{ tool: 'read_file' }], disableModelInvocation: true });
    const twice = await skillOf('read-only: true\nread-only: false\nmax-steps: 3\nmax-steps: 8');
    expect(twice).toMatchObject({ readOnly: true, limits: { maxSteps: 3 } });
  });

  it('keeps those of a file whose fences are wrong', async () => {
    for (const text of [
      '---\nname: x\nallowed-tools: Read\n\n# Title\nBody',
      'name: x\nallowed-tools: Read\n\nBody',
      '```markdown\n---\nname: x\nallowed-tools: Read\n---\nBody\n```',
      '# Title\n---\nname: x\nallowed-tools: Read\n---\nBody',
    ]) {
      const parsed = await parse(text);
      expect(parsed.skill).toMatchObject({ name: 'x', allowedTools: [{ tool: 'read_file' }] });
      expect(parsed.body).toBe(text);
    }
  });
});

describe('other keys', () => {
  it('shows a hint in brackets as text', async () => {
    expect((await skillOf('argument-hint: [pr-number | url]')).argumentHint).toBe('[pr-number | url]');
    expect((await skillOf('argument-hint: [a] [b]')).argumentHint).toBe('[a] [b]');
  });

  it.each([
    ['arguments: a, b', ['a', 'b']],
    ['arguments: [a, b]', ['a', 'b']],
    ['arguments: a b', ['a', 'b']],
    ['arguments:\n  - name: a\n    required: true\n  - name: b', ['a', 'b']],
    ['arguments:\n  a: first\n  b: second', ['a', 'b']],
  ])('reads names of arguments from %j', async (header, names) => {
    expect((await skillOf(header)).argumentNames).toEqual(names);
  });

  it('reads an output schema with its types, as YAML or as JSON text', async () => {
    const schema = {
      type: 'object',
      properties: { n: { type: 'number', minimum: 1, const: '1' } },
      additionalProperties: false,
    };
    const yaml =
      'output-schema:\n  type: object\n  properties:\n    n: {type: number, minimum: 1, const: "1"}\n  additionalProperties: false\nmodel: m';
    expect(await skillOf(yaml)).toMatchObject({ outputSchema: schema, model: 'm' });
    expect((await skillOf(`output-schema: '${JSON.stringify(schema)}'`)).outputSchema).toEqual(schema);
    expect((await skillOf(`output-schema: ${JSON.stringify(schema)}`)).outputSchema).toEqual(schema);
    expect(codes(await skillOf('output-schema: [1]'))).toContain('unreadable-value');
    const repaired = await skillOf(`bad: a: b\n${yaml}`);
    expect(repaired).toMatchObject({ outputSchema: schema, model: 'm' });
  });

  it('reads lists of skills', async () => {
    expect(
      await skillOf('skills: a, b\nrequired: [c]\nrequires: MuseScore 4, lldb\ninherit: instructions'),
    ).toMatchObject({
      preload: ['a', 'b'],
      required: ['c'],
      requires: ['MuseScore 4', 'lldb'],
      inherit: ['instructions'],
    });
  });
});

describe('any file at all', () => {
  const restrictions = fc.constantFrom<[string, (skill: Skill) => boolean]>(
    ['allowed-tools: Read', ({ allowedTools }) => allowedTools !== undefined && allowedTools.length <= 1],
    ['tools: [Read]', ({ allowedTools }) => allowedTools !== undefined && allowedTools.length <= 1],
    ['disallowed-tools: Bash', ({ disallowedTools }) => disallowedTools.length > 0],
    ['disable-model-invocation: true', (skill) => skill.disableModelInvocation],
    ['user-invocable: false', (skill) => !skill.userInvocable],
    ['read-only: yes', (skill) => skill.readOnly],
    ['runAs: subagent', (skill) => skill.runAs === 'subagent'],
    ['invocation: manual', (skill) => skill.invocation === 'manual'],
    ['max-steps: 5', ({ limits }) => limits.maxSteps !== undefined && limits.maxSteps <= 5],
    ['max-cost: 0.5', ({ limits }) => limits.maxCost !== undefined && limits.maxCost <= 0.5],
    ['timeout: 5s', ({ limits }) => limits.timeout !== undefined && limits.timeout <= 5_000],
  );
  /** Lines that authors write; none opens a block or a quote that a later line could belong to. */
  const neighbours = fc.constantFrom(
    'description: Use when: needed',
    'description: @x',
    'description: {a: [',
    'description: | words',
    'description: it\'s "quoted" \'x',
    'description: [x] [y]',
    'metadata: {a: {b: c}',
    'tags: [a, b',
    'version: 1.0',
    'version: *none',
    'summary: "a" b',
    '\tx: y',
    'user: "hi"',
    '- item',
    'plain words',
    '中文：值',
    '',
    '# comment',
    'name: demo',
    'a: b: c',
    '%directive',
    '<<<<<<< ours',
  );

  it('never loses a restriction, whatever stands around it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(neighbours, { maxLength: 5 }),
        restrictions,
        fc.array(neighbours, { maxLength: 5 }),
        async (before, [line, holds], after) => {
          const header = [...before, line, ...after].join('\n');
          const body = 'Body\n---\nrest\n';
          const parsed = await parse(`---\n${header}\n---\n${body}`);
          expect(holds(parsed.skill!), header).toBe(true);
          expect(parsed.body).toBe(body);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('never loosens a restriction whose value is garbage', async () => {
    const garbage = fc.string({
      maxLength: 12,
      unit: fc.constantFrom(
        '[',
        ']',
        '{',
        '}',
        ':',
        ' ',
        '"',
        "'",
        '#',
        '|',
        '>',
        '-',
        'x',
        '(',
        ')',
        ',',
        '&',
        '*',
        '?',
        '中',
      ),
    });
    await fc.assert(
      fc.asyncProperty(garbage, async (value) => {
        const written = `read-only: x${value}\nallowed-tools: ?${value}?\nmax-steps: x${value}\nuser-invocable: q${value}z`;
        const parsed = await parse(`---\nname: demo\n${written}\n---\nBody`);
        expect(parsed.skill).toMatchObject({ readOnly: true, limits: { maxSteps: 1 }, userInvocable: false });
        expect(parsed.skill?.allowedTools?.some((rule) => rule.tool === 'shell') ?? true).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never throws, and keeps the text from the body on', async () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom('---\n', '\n', ': ', '- ', 'name', 'tools', '"', '[', '{', '|', '\r', '\t'),
        fc.string({ unit: 'binary', maxLength: 3 }),
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.uint8Array({ maxLength: 300 })), async (input) => {
        const parsed = await parse(input);
        expect(parsed.text.slice(parsed.bodyStart)).toBe(parsed.body);
        expect(parsed.text.endsWith(parsed.body)).toBe(true);
        expect(parsed.skill?.name).toBeTruthy();
      }),
      { numRuns: 2_000 },
    );
  });
});
