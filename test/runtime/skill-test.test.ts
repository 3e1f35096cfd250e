import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ModelRequest } from '../../src/models/contract.ts';
import type { ScriptedFunction } from '../../src/models/scripted.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import { readEvals } from '../../src/runtime/skill-test/evals.ts';
import { PublishedFiles } from '../../src/runtime/skill-test/published-files.ts';
import { type FinishedRun, testSkill } from '../../src/runtime/skill-test/test-skill.ts';
import { call, type Workshop, workshop } from './workshop.ts';

const withCases = (
  shop: Workshop,
  evals: unknown,
  header: Record<string, unknown> = {},
  body = 'Say it twice.',
): string => {
  const file = shop.skill('echo', header, body);
  const text = Array.isArray(evals) ? JSON.stringify({ skill_name: 'echo', evals }) : String(evals);
  shop.write('.reasonix/skills/echo/evals/evals.json', text);
  return dirname(file);
};

async function echoSkill(shop: Workshop) {
  const { runtime } = await shop.open(() => 'unused');
  const lookup = (await runtime.library()).find('echo');
  if (lookup.status !== 'found') throw new Error('the skill is not there');
  return lookup.skill;
}

async function run(
  shop: Workshop,
  script: ScriptedFunction,
  {
    baseline = true,
    ...options
  }: RuntimeOptions & {
    baseline?: boolean;
    signal?: AbortSignal;
    onRun?: (run: FinishedRun) => void | Promise<void>;
  } = {},
) {
  const { signal = new AbortController().signal, onRun, ...rest } = options;
  const skill = await echoSkill(shop);
  const { cases } = await readEvals(skill);
  const own = await shop.open(script, { skillsFrom: shop.cwd, ...rest });
  const without = await shop.open(script, {
    skillsFrom: shop.cwd,
    ...rest,
    overrides: ['skills.disabled_skills=echo'],
  });
  const runtimes = { with: own.runtime, without: baseline ? without.runtime : undefined };
  const report = await testSkill({ skill, cases, runtimes, signal, onRun });
  return { report, own: own.model, without: without.model };
}

const prompts = ({ messages }: ModelRequest): string =>
  messages.flatMap((message) => (message.role === 'user' ? [message.content] : [])).join('\n');
const newest = ({ messages }: ModelRequest): string => {
  const last = messages.findLast(({ role }) => role === 'user');
  return last?.role === 'user' ? last.content : '';
};
const wasLoaded = (request: ModelRequest): boolean => newest(request).includes('Say it twice.');

describe('a test of a skill', () => {
  it('runs an inline skill as the user’s /name, and the same prompt without the skill', async () => {
    const shop = workshop();
    withCases(shop, [{ id: 1, prompt: 'hello', assertions: [{ contains: 'hello hello' }] }]);
    const { report, own, without } = await run(shop, (request) => (wasLoaded(request) ? 'hello hello' : 'hello'));
    expect(report).toMatchObject({ skill: 'echo', passed: 1, failed: 0, notGraded: 0 });
    expect(report.cases).toMatchObject([
      {
        id: '1',
        with: { passed: true, status: 'completed', answer: 'hello hello', assertions: [{ passed: true }] },
        without: {
          passed: false,
          answer: 'hello',
          assertions: [{ passed: false, evidence: expect.stringContaining('hello') }],
        },
      },
    ]);
    expect(newest(own.requests[0]!)).toContain('Arguments: hello');
    expect(newest(without.requests[0]!)).toBe('hello');
    const listed = without.requests[0]!.tools.find(({ name }) => name === 'run_skill')?.description;
    expect(listed).toContain('- review');
    expect(listed).not.toContain('- echo');
    expect(report.cases[0]!.with.session).toMatch(/^s_/);
    expect(report.cases[0]!.with.tokens).toBeGreaterThan(0);
  });

  it('runs a sub-agent skill as a child, and counts what the child used', async () => {
    const shop = workshop();
    withCases(shop, [{ prompt: 'dig', assertions: [{ contains: 'from the child' }] }], { runAs: 'subagent' });
    const usage = { input: 700, output: 70 };
    const { report } = await run(shop, (request) =>
      request.skill === 'echo' ? { text: 'from the child', usage } : { text: 'alone', usage: { input: 5, output: 5 } },
    );
    expect(report.cases).toMatchObject([
      { id: '1', with: { passed: true, tokens: 770 }, without: { passed: false, tokens: 10 } },
    ]);
  });

  it('gives every run a folder of its own with copies of its files, gone afterwards', async () => {
    const shop = workshop();
    const folder = withCases(shop, [
      { id: 'a', prompt: 'a', files: ['evals/files/data', 'scripts/tool.sh'], assertions: [{ contains: 'x,y' }] },
      { id: 'b', prompt: 'b', assertions: [{ contains: 'nothing' }] },
    ]);
    shop.write('.reasonix/skills/echo/evals/files/data/table.csv', 'x,y');
    shop.write('.reasonix/skills/echo/scripts/tool.sh', 'echo');
    const seen: string[] = [];
    const { report } = await run(
      shop,
      (request) => {
        const last = request.messages.at(-1)!;
        if (last.role === 'tool') return last.content.includes('x,y') ? 'x,y' : 'nothing';
        return {
          calls: [
            call('read_file', { path: 'data/table.csv' }),
            call('write_file', { path: 'data/table.csv', content: 'changed' }),
          ],
        };
      },
      {
        yes: true,
        onRun: ({ folder: work, case: { id } }) => {
          seen.push(work);
          expect(readFileSync(join(work, 'data/table.csv'), 'utf8')).toBe('changed');
          expect(existsSync(join(work, 'scripts/tool.sh'))).toBe(id === 'a');
        },
      },
    );
    expect(report.cases.map(({ with: own }) => own.status)).toEqual(['completed', 'completed']);
    expect(new Set(seen).size).toBe(4);
    expect(seen.filter((path) => existsSync(path))).toEqual([]);
    expect(readFileSync(join(folder, 'evals/files/data/table.csv'), 'utf8')).toBe('x,y');
  });

  it('never counts a case as passed that only a person can judge', async () => {
    const shop = workshop();
    withCases(shop, [
      { id: 'words', prompt: 'x', expected_output: 'A fine answer', assertions: ['It is fine'] },
      { id: 'bare', prompt: 'x', expected_output: 'A fine answer' },
      { id: 'mixed', prompt: 'x', expectations: ['It is fine'], assertions: [{ contains: 'ok' }] },
      { id: 'broken', prompt: 'break', expected_output: 'A fine answer' },
    ]);
    const { report } = await run(shop, (request) => (prompts(request).includes('break') ? '' : 'ok'), {
      baseline: false,
    });
    expect(report).toMatchObject({ passed: 1, failed: 1, notGraded: 2 });
    expect(report.cases.map(({ with: own }) => own.passed)).toEqual([null, null, true, false]);
    expect(report.cases[3]!.with).toMatchObject({ status: 'no_answer', error: expect.any(String) });
  });

  it('fails a case whose run did not complete, whatever its answer holds', async () => {
    const shop = workshop();
    withCases(shop, [{ prompt: 'x', assertions: [{ not_contains: 'bad' }] }], { 'user-invocable': false });
    const { report } = await run(shop, () => 'good', { baseline: false });
    expect(report).toMatchObject({ passed: 0, failed: 1 });
    expect(report.cases[0]!.with).toMatchObject({
      error: expect.stringContaining('users cannot start it'),
      assertions: [{ passed: false }],
    });
  });

  it('stops all runs when it is cancelled, and leaves no folder behind', async () => {
    const shop = workshop();
    withCases(
      shop,
      Array.from({ length: 6 }, (_, id) => ({ id, prompt: 'x', assertions: [{ contains: 'x' }] })),
    );
    const stop = new AbortController();
    let asked = 0;
    const folders: string[] = [];
    const testing = run(
      shop,
      async (request) => {
        asked++;
        folders.push(/\/\S*reasonix-test-[^/\s]+/.exec(request.system)?.[0] ?? '');
        if (asked === 4) stop.abort(new Error('enough'));
        return { text: '', faults: { hang: true, times: 'always' } };
      },
      { signal: stop.signal },
    );
    await expect(testing).rejects.toMatchObject({
      code: 'cancelled',
      message: 'the test was stopped after 0 of 12 runs',
    });
    expect(asked).toBe(4);
    expect(folders.filter((path) => path === '' || existsSync(path))).toEqual([]);
  });

  it('ends with the fault when nothing can run', async () => {
    const shop = workshop();
    withCases(shop, [{ prompt: 'x' }, { prompt: 'y' }]);
    const skill = await echoSkill(shop);
    const { cases } = await readEvals(skill);
    const { runtime } = await shop.open(() => 'x', {
      model: 'nowhere/none',
      overrides: ['default_model=nowhere/none'],
    });
    const testing = testSkill({ skill, cases, runtimes: { with: runtime }, signal: new AbortController().signal });
    await expect(testing).rejects.toMatchObject({ name: 'ReasonixError' });
  });
});

describe('assertions', () => {
  const graded = async (assertion: unknown, answer: string) => {
    const shop = workshop();
    withCases(shop, [{ prompt: 'x', assertions: [assertion] }]);
    const { report } = await run(shop, () => answer, { baseline: false });
    return report.cases[0]!.with.assertions[0]!;
  };

  it.each([
    [{ contains: 'b' }, 'abc', true],
    [{ contains: 'B' }, 'abc', false],
    [{ not_contains: 'x' }, 'abc', true],
    [{ not_contains: 'b' }, 'abc', false],
    [{ regex: '(?i)^A.c$' }, 'abc', true],
    [{ regex: '\\d{3}' }, 'abc', false],
    [{ json_schema: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } }, '{"n": 1}', true],
    [{ json_schema: { type: 'object', required: ['n'] } }, '```json\n{"n": 1}\n```', true],
    [{ json_schema: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } }, '{"n": "1"}', false],
    [{ json_schema: { type: 'object' } }, 'n: 1', false],
    [{ command: 'grep -q abc "$REASONIX_ANSWER_FILE"' }, 'abc', true],
    [{ command: 'test -f "$REASONIX_SKILL_FOLDER/SKILL.md" && pwd | grep -q work$ && exit 3' }, 'abc', false],
  ])('%j on %j: %s', async (assertion, answer, passed) => {
    expect(await graded(assertion, answer)).toMatchObject({ passed, evidence: expect.stringMatching(/./) });
  });

  it('say why in their evidence, and carry their own words', async () => {
    expect(await graded({ command: 'echo the reason; exit 3', text: 'It builds' }, 'x')).toEqual({
      text: 'It builds',
      passed: false,
      evidence: 'the reason [exit code 3]',
    });
    expect(
      await graded({ json_schema: { type: 'object', properties: { n: { type: 'integer' } } } }, '{"n": "1"}'),
    ).toMatchObject({
      evidence: expect.stringMatching(/^n: /),
    });
  });

  it('end a command that takes too long, with all it started', async () => {
    const begin = Date.now();
    expect(await graded({ command: 'sleep 60 & sleep 60', timeout: 0.3 }, 'x')).toMatchObject({
      passed: false,
      evidence: expect.stringContaining('timed out after 0.3 s'),
    });
    expect(Date.now() - begin).toBeLessThan(20_000);
  });

  it('match hostile expressions in linear time', async () => {
    const begin = Date.now();
    expect(await graded({ regex: '(a+)+$' }, `${'a'.repeat(5_000)}!`)).toMatchObject({ passed: false });
    expect(Date.now() - begin).toBeLessThan(10_000);
  });
});

describe('evals.json', () => {
  const problem = async (evals: unknown, more: (shop: Workshop, folder: string) => void = () => {}) => {
    const shop = workshop();
    const folder = withCases(shop, evals);
    more(shop, folder);
    return readEvals(await echoSkill(shop)).then(
      () => 'read',
      (error: Error) => error.message,
    );
  };

  it.each([
    ['{"evals": [', 'is no JSON'],
    ['[]', 'expected object'],
    [[], 'has no cases'],
    [[{ id: 7, prompt: ' ' }], 'case "7", prompt: must say something'],
    [
      [
        { id: 7, prompt: 'x' },
        { id: '7', prompt: 'y' },
      ],
      'two cases have the id "7"',
    ],
    [
      [{ prompt: 'x', assertions: [{ contians: 'x' }] }],
      'case "1", assertions.0: expected a sentence, or an object with one of',
    ],
    [[{ prompt: 'x', assertions: [{ contains: 'x', regex: 'y' }] }], 'case "1", assertions.0: '],
    [[{ prompt: 'x', assertions: ['fine', { regex: '(' }] }], 'case "1", assertions.1: '],
    [[{ prompt: 'x', files: ['evals/files/gone.txt'] }], 'there is no file "evals/files/gone.txt"'],
    [[{ prompt: 'x', files: ['../../secret'] }], 'is not in the folder of the skill'],
    [[{ prompt: 'x', files: ['/etc/passwd'] }], 'is not in the folder of the skill'],
    [[{ prompt: 'x', files: ['a\\..\\..\\secret'] }], 'is not in the folder of the skill'],
  ])('%j is refused: %s', async (evals, text) => {
    expect(await problem(evals)).toContain(text);
  });

  it('cannot take files out of the folder of the skill through links', async () => {
    const link = (_: Workshop, folder: string) => symlinkSync('/etc/passwd', join(folder, 'evals/link'));
    expect(await problem([{ prompt: 'x', files: ['evals/link'] }], link)).toContain(
      'is not in the folder of the skill',
    );
    const shop = workshop();
    const folder = withCases(shop, [{ prompt: 'x', files: ['evals/files'] }]);
    shop.write('.reasonix/skills/echo/evals/files/own.txt', 'own');
    symlinkSync('/etc/passwd', join(folder, 'evals/files/link'));
    await expect(run(shop, () => 'x')).rejects.toThrow(/link leads out of the folder of the skill/);
  });

  it('may have a byte order mark and keys of other programs, and be of another name', async () => {
    const shop = workshop();
    withCases(
      shop,
      `\uFEFF${JSON.stringify({ skill_name: 'other', version: 2, evals: [{ prompt: 'x', should_trigger: true }] })}`,
    );
    const { cases, problems } = await readEvals(await echoSkill(shop));
    expect(cases).toMatchObject([{ id: '1', prompt: 'x', files: [], assertions: [] }]);
    expect(problems).toEqual([expect.stringContaining('is written for the skill "other"')]);
  });

  it('is missed with the path where it belongs', async () => {
    const shop = workshop();
    const path = join(dirname(shop.skill('echo', {}, 'Body')), 'evals', 'evals.json');
    await expect(readEvals(await echoSkill(shop))).rejects.toMatchObject({
      code: 'skill_invalid',
      hint: expect.stringContaining(path),
    });
  });
});

describe('published files', () => {
  it('are laid out by case and variant, with times, grades and the comparison', async () => {
    const shop = workshop();
    withCases(shop, [
      { id: 'a/b', prompt: 'x', assertions: [{ contains: 'twice' }, { contains: 'x' }, 'It is fine'] },
      { id: 'a b', prompt: 'x' },
    ]);
    const out = mkdtempSync(join(tmpdir(), 'reasonix-out-'));
    onTestFinished(() => rmSync(out, { recursive: true, force: true }));
    const skill = await echoSkill(shop);
    const files = new PublishedFiles(out, (await readEvals(skill)).cases);
    const { report } = await run(shop, (request) => (wasLoaded(request) ? 'twice x' : 'x'), {
      onRun: async (each) => {
        writeFileSync(join(each.folder, 'made.txt'), each.variant);
        await files.addRun(each);
      },
    });
    await files.addReport(report);
    const json = (path: string) => JSON.parse(readFileSync(join(out, path), 'utf8'));
    expect(json('eval-a-b/with_skill/grading.json')).toMatchObject({
      assertion_results: [
        { text: 'contains "twice"', passed: true },
        { passed: true },
        { text: 'It is fine', passed: null },
      ],
      summary: { passed: 2, failed: 0, total: 2, pass_rate: 1, not_graded: 1 },
    });
    expect(json('eval-a-b/without_skill/grading.json').summary).toMatchObject({ passed: 1, failed: 1, pass_rate: 0.5 });
    expect(json('eval-a-b-2/with_skill/grading.json').summary).toMatchObject({ total: 0, pass_rate: null });
    const { tokens, ms } = report.cases[0]!.with;
    expect(json('eval-a-b/with_skill/timing.json')).toEqual({ total_tokens: tokens, duration_ms: ms });
    expect(readFileSync(join(out, 'eval-a-b/without_skill/outputs/made.txt'), 'utf8')).toBe('without');
    expect(readFileSync(join(out, 'eval-a-b/with_skill/outputs/answer.md'), 'utf8')).toBe('twice x');
    expect(json('benchmark.json').run_summary).toMatchObject({
      with_skill: { pass_rate: { mean: 1, stddev: 0 }, tokens: { mean: expect.any(Number) } },
      without_skill: { pass_rate: { mean: 0.5, stddev: 0 } },
      delta: { pass_rate: 0.5 },
    });
  });
});
