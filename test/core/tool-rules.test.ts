import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUILTIN_TOOL_NAMES, toolAlias } from '../../src/core/tool-names.ts';
import { allows, denies, narrowTools, parseToolRules, type ToolRule } from '../../src/core/tool-rules.ts';

const spelled = (value: string | readonly string[]): string[] =>
  parseToolRules(value).rules.map(({ tool, pattern }) => (pattern === undefined ? tool : `${tool}(${pattern})`));
const rules = (text: string): ToolRule[] => parseToolRules(text).rules;

describe('parseToolRules', () => {
  it.each([
    ['Read, Grep', ['read_file', 'grep']],
    ['Read Grep', ['read_file', 'grep']],
    [
      ['Read', 'Grep'],
      ['read_file', 'grep'],
    ],
    ['- Read\n- Grep', ['read_file', 'grep']],
    ['"Read Write Glob"', ['read_file', 'write_file', 'list_files']],
    ['Bash(git add *) Bash(git commit *)', ['shell(git add *)', 'shell(git commit *)']],
    ['Bash(git push *), WebFetch', ['shell(git push *)', 'web_fetch']],
    ['Read,  Grep ,Bash', ['read_file', 'grep', 'shell']],
    ['[Read, Grep]', ['read_file', 'grep']],
    ['[]', []],
    ['', []],
    [[], []],
    [['Read, Bash(npm run a, b)'], ['read_file', 'shell(npm run a, b)']],
    [`'Read', "Grep"`, ['read_file', 'grep']],
    ['Bash(echo (a b) c)', ['shell(echo (a b) c)']],
    ['Bash(git:*), Bash(npm run test:*)', ['shell(git *)', 'shell(npm run test *)']],
    ['Bash(*)', ['shell']],
    ['Agent(explore, review)', ['run_skill(explore)', 'run_skill(review)']],
    ['mcp__docs__search mcp__docs__* mcp__github', ['mcp__docs__search', 'mcp__docs__*', 'mcp__github']],
    ['*', ['*']],
    ['Read Read', ['read_file']],
  ])('reads %j (A10)', (value, expected) => {
    expect(spelled(value)).toEqual(expected);
    expect(parseToolRules(value).unknown).toEqual([]);
  });

  it.each([
    ['Edit MultiEdit StrReplace apply_patch replace str_replace_editor', 'edit_file'],
    ['Bash Shell exec terminal run_shell_command local_shell run_terminal_cmd', 'shell'],
    ['Grep Search search_file_content grep_search', 'grep'],
    ['Glob LS ls list_dir list_directory file_search', 'list_files'],
    ['WebFetch Fetch web_fetch', 'web_fetch'],
    ['Task Agent Skill InvokeSkill activate_skill', 'run_skill'],
    ['SearchSkills', 'search_skills'],
    ['Write write_to_file create_file', 'write_file'],
    ['Read ReadFile read_many_files', 'read_file'],
  ])('knows %s as %s', (text, ours) => {
    expect(spelled(text)).toEqual([ours]);
  });

  it('keeps an unknown name as a rule of exactly that name and reports it (F28)', () => {
    const parsed = parseToolRules('read_file, late, TodoWrite(x)');
    expect(parsed.unknown).toEqual(['late', 'TodoWrite']);
    expect(narrowTools(['read_file', 'grep', 'late', 'Late'], parsed.rules, [])).toEqual(['read_file', 'late']);
  });

  it.each(['Bash(git *', 'Bash()', 'Bash(git *)x', 'Bash(git *)(rm *)'])(
    'takes the restriction of %s, which cannot be read, as the narrowest',
    (text) => {
      const parsed = parseToolRules(text);
      expect(parsed.unknown).toHaveLength(1);
      expect(allows(parsed.rules, 'shell', 'git status')).toBe(false);
      expect(denies(parsed.rules, 'shell', 'git status')).toBe(true);
    },
  );

  it('lets a blank before the parenthesis widen nothing', () => {
    expect(spelled('Bash (git *)')).toEqual(['shell(git *)']);
  });

  it('never throws, and never grants more than the names that are in the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'Bash(git*),: "\'[]-\n{}|') }), (text) => {
        for (const rule of parseToolRules(text).rules) expect(rule.tool).not.toBe('');
      }),
    );
  });

  it('reads back what it wrote, whatever the separator', () => {
    const rule = fc.record({
      tool: fc.constantFrom(...BUILTIN_TOOL_NAMES.filter((name) => name !== 'run_skill'), 'mcp__a__b'),
      pattern: fc.option(fc.stringMatching(/^[a-z][a-z, *./]{0,12}[a-z]$/), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(rule), fc.constantFrom(' ', ',', ', ', ' ,  ', '\n'), (list, separator) => {
        const texts = list.map(({ tool, pattern }) => (pattern === undefined ? tool : `${tool}(${pattern})`));
        expect(spelled(texts.join(separator))).toEqual([...new Set(texts)]);
        expect(spelled(texts)).toEqual([...new Set(texts)]);
      }),
    );
  });
});

describe('shell rules that allow', () => {
  const git = rules('Bash(git:*)')[0] as ToolRule;

  it.each([
    'git',
    'git status',
    '  git   log --oneline ',
    'git commit -m "a; b | c > d"',
    "git commit -m 'it `is` $(fine)'",
    'git log 2>&1',
    'git log 2>/dev/null',
    'git log >/dev/null',
    'git status && git diff',
    'git diff \\\n --stat',
    'git show $BRANCH',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell expands it
    'git show "${BRANCH}"',
    'git grep foo#bar',
  ])('covers %j', (command) => {
    expect(allows([git], 'shell', command)).toBe(true);
  });

  it.each([
    'gitk',
    'git-evil',
    '/tmp/git status',
    'git status; rm -rf x',
    'git status & rm x',
    'git status | sh',
    'git status || rm x',
    'git status\nrm -rf x',
    'git $(rm x)',
    'git "$(rm x)"',
    'git `rm x`',
    'git "`rm x`"',
    'git log > out',
    'git log >> out',
    'git log 2>/dev/null/../../tmp/x',
    'git log > /dev/null2',
    'git <(rm x)',
    'git << EOF\nEOF',
    "git status # it's\nrm -rf x # it's",
    "git $'a' ",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell expands it
    'git ${x@P}',
    'git $[ `x` ]',
    'git "open',
    'git \\',
    'X=1 git status',
    '{ git status; }',
    '(git status)',
    'if git status; then git log; fi',
    'git \0',
    '',
    ';',
  ])('does not cover %j', (command) => {
    expect(allows([git], 'shell', command)).toBe(false);
  });

  it('lets several rules cover a compound command together', () => {
    const both = rules('Bash(git log *) Bash(head *)');
    expect(allows(both, 'shell', 'git log | head -3')).toBe(true);
    expect(allows(both, 'shell', 'git log | tail -3')).toBe(false);
    expect(both.some((rule) => allows([rule], 'shell', 'git log | head -3'))).toBe(false);
  });

  it('takes a pattern without a star word for word', () => {
    expect(allows(rules('Bash(npm test)'), 'shell', 'npm test')).toBe(true);
    expect(allows(rules('Bash(npm test)'), 'shell', 'npm test -- -u')).toBe(false);
  });

  it('never covers a command of which a second part runs something else', () => {
    const joiner = fc.constantFrom(';', '&', '|', '&&', '||', '\n', ' ; ', '\n\n');
    const quoted = fc.stringMatching(/^[a-z #;|&>'" ]{0,8}$/).map((text) => `'${text.replaceAll("'", "'\\''")}'`);
    fc.assert(
      fc.property(quoted, joiner, quoted, (first, join, second) => {
        expect(allows([git], 'shell', `git ${first}`)).toBe(true);
        expect(allows([git], 'shell', `git ${first}${join}rm ${second}`)).toBe(false);
      }),
    );
  });

  it('stays quick on hostile patterns', () => {
    const started = performance.now();
    expect(allows(rules(`Bash(${'*a'.repeat(200)}b)`), 'shell', 'a'.repeat(20_000))).toBe(false);
    expect(allows(rules(`Read(${'**/'.repeat(200)}x)`), 'read_file', 'a/'.repeat(2_000))).toBe(false);
    expect(performance.now() - started).toBeLessThan(1_500);
  });

  it('reads quotes as cmd.exe does on Windows', async () => {
    const { simpleCommands } = await import('../../src/core/shell-command.ts');
    expect(simpleCommands("git 'a & del b'", 'win32')).toBeUndefined();
    expect(simpleCommands("git 'a & del b'", 'linux')).toEqual(["git 'a & del b'"]);
    expect(simpleCommands('git "a\\" & del b', 'win32')).toBeUndefined();
  });
});

describe('shell rules that deny', () => {
  const operator = rules('Bash(rm *), Bash(chmod 777)');

  it.each([
    'rm x',
    'rm',
    'chmod 777 a',
    'ls; chmod 777 a',
    'ls && rm x',
    'ls $(rm x)',
    'ls "a $(rm x)"; ls',
    'ls "$(date)"; rm x',
    'ls `rm x`',
    '(rm x)',
    'X=1 rm x',
    'sudo -u me rm x',
    '/bin/rm x',
    '"rm" x',
    'r\\m x',
    '2>/dev/null rm x',
    '>out rm x',
    'ls >&2; rm x',
    'sh -c "rm x"',
    'bash -lc "ls; chmod  777 a"',
    'env A=1 bash -c \'rm "a b"\'',
    'find . -exec rm {} +',
    'xargs rm < list',
    'if true; then rm x; fi',
    "ls # it's\nrm x",
    'ls | eval rm x',
    'echo "rm x" | sh',
    'echo rm x | bash -s',
    'bash <<< "rm x"',
    'bash <<EOF\nrm x\nEOF',
    "$'rm' x",
    'rm$IFS-f x',
    'trap "rm x" EXIT',
    'coproc rm x',
    'function f { rm x; }; f',
    'busybox rm x',
  ])('refuse %j (F29)', (command) => {
    expect(denies(operator, 'shell', command)).toBe(true);
  });

  it.each([
    'ls',
    'git commit -m "rm x"',
    'rmdir x',
    'chmod 7777 a',
    'echo rm',
    'ls # rm x',
    'grep -e x rm y',
    'cat <<EOF\na\nEOF',
  ])('leave %j', (command) => {
    expect(denies(operator, 'shell', command)).toBe(false);
  });

  it('refuse what is too tangled to see through', () => {
    expect(denies(operator, 'shell', `${'sudo sh '.repeat(2_000)}true`)).toBe(true);
  });

  it('see a command behind its options', () => {
    const push = rules('Bash(git push *)');
    const pushes = [
      'git -C . push',
      'git -c a=b --no-pager push origin',
      'git --git-dir .git push',
      '/bin/git -C a push',
    ];
    for (const command of pushes) expect([command, denies(push, 'shell', command)]).toEqual([command, true]);
    for (const command of ['git commit -m push', 'git log push', 'git -C . log push']) {
      expect([command, denies(push, 'shell', command)]).toEqual([command, false]);
    }
  });

  it('refuse whatever is hidden between other commands', () => {
    const piece = fc.constantFrom(
      'ls',
      'echo "a b"',
      "echo 'x'",
      'X=1 true',
      'cat < f',
      'git log 2>&1',
      'echo "$(date)"',
    );
    const joiner = fc.constantFrom(';', ' & ', '|', '&&', '||', '\n');
    fc.assert(
      fc.property(fc.array(fc.tuple(piece, joiner)), fc.array(fc.tuple(joiner, piece)), (before, after) => {
        const command = `${before.flat().join('')}rm x${after.flat().join('')}`;
        expect(denies(operator, 'shell', command)).toBe(true);
      }),
    );
  });
});

describe('path, URL and skill patterns', () => {
  it.each([
    ['Read(src/**)', 'read_file', 'src/a/b.ts', true],
    ['LS(src/**)', 'list_files', 'src', true],
    ['LS(src/**)', 'list_files', '.', false],
    ['Read(src/**)', 'read_file', 'src/../secret', false],
    ['Read(./src/)', 'read_file', 'src/a', true],
    ['Edit(src/*.ts)', 'edit_file', 'src/a.ts', true],
    ['Edit(src/*.ts)', 'edit_file', 'src/a/b.ts', false],
    ['Edit(**/*.{ts,tsx})', 'edit_file', 'a/b.tsx', true],
    ['Read(//etc/hosts)', 'read_file', '/etc/hosts', true],
    ['Read(notes.md)', 'read_file', 'sub/notes.md', false],
    ['WebFetch(domain:example.com)', 'web_fetch', 'https://example.com/a', true],
    ['WebFetch(domain:example.com)', 'web_fetch', 'https://example.com.evil.org/', false],
    ['WebFetch(domain:example.com)', 'web_fetch', 'https://evil.org/example.com', false],
    ['WebFetch(domain:*.example.com)', 'web_fetch', 'https://a.example.com/', true],
    ['Skill(explore)', 'run_skill', 'explore', true],
    ['Skill(explore)', 'run_skill', 'explore2', false],
  ])('%s on %s %s: %s', (text, tool, subject, expected) => {
    expect(allows(rules(text), tool, subject)).toBe(expected);
  });

  it.each([
    ['Read(.env)', 'read_file', 'deep/.ENV', true],
    ['Read(secrets)', 'read_file', 'secrets/key.pem', true],
    ['Read(config/*.key)', 'read_file', 'config/a.key', true],
    ['Read(config/*.key)', 'read_file', 'other/a.key', false],
    ['WebFetch(domain:example.com)', 'web_fetch', 'https://EXAMPLE.com./x', true],
    ['Read', 'read_file', 'anything', true],
    ['Read', 'write_file', 'anything', false],
  ])('%s refuses %s %s: %s', (text, tool, subject, expected) => {
    expect(denies(rules(text), tool, subject)).toBe(expected);
  });
});

describe('narrowTools', () => {
  const parent = ['run_skill', 'read_file', 'shell', 'mcp__docs__search', 'mcp__docs__get', 'mcp__other__x'];

  it('gives all of the parent when nothing is said, none for an empty list', () => {
    expect(narrowTools(parent, undefined, [])).toEqual(parent);
    expect(narrowTools(parent, [], [])).toEqual([]);
  });

  it('never gives what the parent lacks, in the order of the parent (F29)', () => {
    expect(narrowTools(['read_file'], rules('Bash Read Write'), [])).toEqual(['read_file']);
    fc.assert(
      fc.property(fc.subarray([...BUILTIN_TOOL_NAMES]), fc.subarray([...BUILTIN_TOOL_NAMES]), (have, want) => {
        const got = narrowTools(have, rules(want.join(' ')), []);
        expect(got).toEqual(have.filter((name) => want.includes(name)));
      }),
    );
  });

  it('keeps a tool that is narrowed or refused by pattern only', () => {
    expect(narrowTools(parent, rules('Bash(git *)'), [])).toEqual(['shell']);
    expect(narrowTools(parent, undefined, rules('Bash(rm *)'))).toEqual(parent);
    expect(narrowTools(parent, undefined, rules('Bash'))).not.toContain('shell');
  });

  it('takes globs and whole servers', () => {
    expect(narrowTools(parent, rules('mcp__docs__*'), [])).toEqual(['mcp__docs__search', 'mcp__docs__get']);
    expect(narrowTools(parent, rules('mcp__docs'), rules('mcp__docs__get'))).toEqual(['mcp__docs__search']);
    expect(narrowTools(parent, rules('*'), [])).toEqual(parent);
  });
});

it('answers the calls of predecessors by our own tools', () => {
  expect([toolAlias('InvokeSkill'), toolAlias('SearchSkills'), toolAlias('Read')]).toEqual([
    'run_skill',
    'search_skills',
    'Read',
  ]);
});
