import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { built, Workplace } from './workplace.ts';

const SCRIPT = `
rules:
  - name: hang
    when: { user: hang }
    faults: { hang: true, times: always }
  - name: write
    when: { user: write, turn_step: 1 }
    calls: [{ name: write_file, arguments: { path: out.txt, content: "written" } }]
  - name: skilled
    when: { user: Shout }
    text: "HELLO"
  - name: plain
    text: "hello"
`;

interface Report {
  skill: string;
  cases: { id: string; with: Run; without: Run | null; expected_output: string | null }[];
  passed: number;
  failed: number;
  not_graded: number;
}
interface Run {
  passed: boolean | null;
  assertions: { text: string; passed: boolean | null; evidence: string }[];
  tokens: number;
  ms: number;
  session: string;
}

let place: Workplace;
beforeAll(built);
beforeEach(() => {
  place = new Workplace(SCRIPT);
  place.skill('shout', 'description: Shouts.', 'Shout.');
});
afterEach(() => place.remove());

const evals = (...cases: object[]) =>
  place.write('.reasonix/skills/shout/evals/evals.json', JSON.stringify({ skill_name: 'shout', evals: cases }));
const loud = { id: 'loud', prompt: 'hello', assertions: [{ contains: 'HELLO' }] };

describe('skill test', () => {
  test('prints a table on stdout, progress on stderr, and ends with 0 when all passed', async () => {
    evals(loud, { id: 2, prompt: 'hello', expected_output: 'Something loud' });
    const { code, stdout, stderr } = await place.run(['skill', 'test', 'shout']);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^CASE +WITH +WITHOUT +TOKENS +TIME$/m);
    expect(stdout).toMatch(/^loud +passed 1\/1 +failed 0\/1 +\S+ \/ \S+ +\S+s \/ \S+s$/m);
    expect(stdout).toMatch(/^2 +not graded +not graded/m);
    expect(stdout).toMatch(/^ {2}expected {2}Something loud$/m);
    expect(stdout).toMatch(/^ {2}answer {2}HELLO$/m);
    expect(stderr).toMatch(/^\[4\/4\] /m);
    expect(stderr).toMatch(/^1 passed, 0 failed, 1 not graded$/m);
    expect(stdout).not.toContain('[4/4]');
  });

  test('--json gives the report; a failed case ends with 1; sessions can be read afterwards', async () => {
    evals(loud, { id: 'quiet', prompt: 'hello', assertions: [{ not_contains: 'HELLO', text: 'It is quiet' }] });
    const { code, stdout } = await place.run(['skill', 'test', 'shout', '--json']);
    expect(code).toBe(1);
    const report = JSON.parse(stdout) as Report;
    expect(report).toMatchObject({ skill: 'shout', passed: 1, failed: 1, not_graded: 0 });
    expect(report.cases[1]).toMatchObject({
      id: 'quiet',
      with: { passed: false, assertions: [{ text: 'It is quiet', passed: false, evidence: 'found in HELLO' }] },
      without: { passed: true },
    });
    const shown = await place.run(['session', 'show', report.cases[0]!.with.session]);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('HELLO') });
  });

  test('--case and --no-baseline run less', async () => {
    evals(loud, { id: 2, prompt: 'hello', assertions: [{ contains: 'nothing' }] });
    const report = await place.json<Report>(['skill', 'test', 'shout', '--case', 'loud', '--no-baseline', '--json']);
    expect(report.cases).toMatchObject([{ id: 'loud', with: { passed: true }, without: null }]);
    const unknown = await place.run(['skill', 'test', 'shout', '--case', '3']);
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toContain('its cases: loud, 2');
  });

  test('is no success when nothing could be graded', async () => {
    evals({ prompt: 'hello', expected_output: 'Something loud' });
    const { code, stderr } = await place.run(['skill', 'test', 'shout', '--no-baseline']);
    expect(code).toBe(1);
    expect(stderr).toContain('0 passed, 0 failed, 1 not graded: add assertions');
  });

  test('runs commands of a test only where the shell may, and writes only where they are allowed', async () => {
    evals({ prompt: 'write', assertions: [{ command: 'cat out.txt' }, { command: 'touch ran' }] });
    const test = ['skill', 'test', 'shout', '--no-baseline'];
    const refused = await place.run([...test, '--allow', 'shell(cat *)']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('touch ran');
    expect(refused.stderr).not.toContain('cat out.txt');
    const denied = await place.run([...test, '--yes', '-e', 'permissions.deny=shell(touch *)']);
    expect(denied).toMatchObject({ code: 2, stdout: '' });
    const unwritten = await place.run([...test, '--allow', 'shell(cat *)', '--allow', 'shell(touch *)']);
    expect(unwritten.code).toBe(1);
    expect(unwritten.stdout).toMatch(/failed {2}the command succeeds: cat out\.txt: .*No such file/);
    expect(await place.run([...test, '--yes'])).toMatchObject({ code: 0 });
    expect(existsSync(join(place.project, 'ran'))).toBe(false);
    expect(existsSync(join(place.project, 'out.txt'))).toBe(false);
  });

  test('--out writes the published files', async () => {
    evals(loud);
    await place.run(['skill', 'test', 'shout', '--out', 'results']);
    const out = join(place.project, 'results');
    expect(readdirSync(out).sort()).toEqual(['benchmark.json', 'eval-loud']);
    expect(readdirSync(join(out, 'eval-loud/with_skill')).sort()).toEqual(['grading.json', 'outputs', 'timing.json']);
    const { run_summary: summary } = JSON.parse(readFileSync(join(out, 'benchmark.json'), 'utf8')) as {
      run_summary: { delta: { pass_rate: number } };
    };
    expect(summary.delta.pass_rate).toBe(1);
  });

  test('says what is wrong with a skill or its cases before anything runs', async () => {
    const unknown = await place.run(['skill', 'test', 'shuot']);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('nearest: shout') });
    const none = await place.run(['skill', 'test', 'shout']);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('the skill shout has no tests') });
    evals({ prompt: 'x', assertions: [{ regex: '(' }] });
    const wrong = await place.run(['skill', 'test', 'shout']);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('case "1", assertions.0') });
    expect((await place.json<{ sessions: unknown[] }>(['session', 'list', '--all', '--json'])).sessions).toEqual([]);
  });

  test.skipIf(process.platform === 'win32')('Ctrl-C stops all runs and leaves no folder behind', async () => {
    evals({ prompt: 'hang' }, { prompt: 'hang' });
    const TMPDIR = join(place.folder, 'tmp');
    mkdirSync(TMPDIR);
    const run = place.start(['skill', 'test', 'shout', '--json'], { env: { TMPDIR } });
    const running = async () =>
      (await place.json<{ sessions: { status: string }[] }>(['session', 'list', '--all', '--json'])).sessions;
    while ((await running()).filter(({ status }) => status === 'running').length < 4);
    run.process.kill('SIGINT');
    const { code, stdout } = await run.ended;
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ code: 'cancelled', error: 'the test was stopped after 0 of 4 runs' });
    const statuses = new Set((await running()).map(({ status }) => status));
    expect([...statuses]).toEqual(['cancelled']);
    expect(readdirSync(TMPDIR)).toEqual([]);
  });
});
