import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { binary, built, Workplace } from './workplace.ts';

const SCRIPT = `
rules:
  - name: child looks
    when: { kind: child, turn_step: 1, turn: 1 }
    text: "looking around"
    calls: [{ name: list_files, arguments: { path: "." } }]
  - name: child answers
    when: { kind: child }
    text: "child heard {{user}} in turn {{turn}}"
  - name: delegate
    when: { user: delegate, turn_step: 1 }
    text: "I ask two."
    calls:
      - { name: run_skill, arguments: { name: helper, arguments: "one" } }
      - { name: run_skill, arguments: { name: helper, arguments: "two" } }
  - name: write
    when: { user: write, turn_step: 1 }
    calls: [{ name: write_file, arguments: { path: out.txt, content: hello } }]
  - name: separators
    when: { user: separators }
    text: "a\\u2028b\\u2029c"
  - name: silent
    when: { user: silent }
    text: ""
  - name: refuse
    when: { user: refuse }
    faults: { status: 400, message: no such thing, times: always }
  - name: hang
    when: { user: hang }
    faults: { hang: true, times: always }
  - name: slow
    when: { user: slow, tool_choice: auto }
    latency: 60000
  - name: answer
    chunks: 3
    text: "answer to {{user}} in turn {{turn}}"
`;

interface RunJson {
  session: string;
  status: string;
  answer: string;
  steps: number;
  usage: { own: Record<string, number>; total: Record<string, number> };
  cost: number | null;
  subagents: {
    ref: string;
    parent: string;
    depth: number;
    skill: string;
    status: string;
    steps: number;
    usage: Record<string, number>;
  }[];
  required: unknown;
  error: string | null;
}

let place: Workplace;
beforeAll(built);
beforeEach(() => {
  place = new Workplace(SCRIPT);
  place.skill('helper', 'description: Helps.\nrunAs: subagent\nallowed-tools: list_files');
});
afterEach(() => place.remove());

const lastSession = async (): Promise<string> => {
  const { sessions } = await place.json<{ sessions: { session: string }[] }>(['session', 'list', '--json']);
  return sessions[0]!.session;
};

describe('output', () => {
  test('text: the answer alone on stdout, everything on the way on stderr', async () => {
    const { code, stdout, stderr } = await place.run(['run', 'please', 'delegate']);
    expect([code, stdout]).toEqual([0, 'answer to please delegate in turn 1\n']);
    expect(stderr).toContain('I ask two.');
    expect(stderr).toMatch(/^ {2}helper sa_[0-9a-z]{26} started$/m);
    expect(stderr).toMatch(/^ {2}helper sa_[0-9a-z]{26} completed: 2 steps, [\d,]+ tokens, [\d.]+s$/m);
    expect(stderr).toMatch(/^completed · 2 steps · 2 sub-agents · /m);
    expect(stderr).toContain(`reasonix run --resume ${await lastSession()}`);
    expect(stderr).not.toContain('\u001b');
  });

  test('json: one object of the documented shape whose totals add up', async () => {
    const result = await place.json<RunJson>(['run', '--output', 'json', 'delegate']);
    expect(Object.keys(result)).toEqual([
      'session',
      'status',
      'answer',
      'steps',
      'usage',
      'cost',
      'subagents',
      'required',
      'limit',
      'error',
    ]);
    expect(result).toMatchObject({
      status: 'completed',
      answer: 'answer to delegate in turn 1',
      steps: 2,
      cost: null,
      required: { names: [], loaded: [], nudges: 0, injected: [] },
      error: null,
    });
    expect(result.subagents).toHaveLength(2);
    for (const child of result.subagents) {
      expect(Object.keys(child)).toEqual([
        'ref',
        'parent',
        'depth',
        'skill',
        'status',
        'steps',
        'usage',
        'cost',
        'limit',
        'reason',
      ]);
      expect(child).toMatchObject({ parent: result.session, depth: 1, skill: 'helper', status: 'completed', steps: 2 });
    }
    const { own, total } = result.usage;
    expect(Object.keys(total)).toEqual(['input', 'output', 'cache_read', 'cache_write', 'reasoning']);
    for (const kind of Object.keys(total)) {
      const sum = result.subagents.reduce((sofar, { usage }) => sofar + usage[kind]!, own[kind]!);
      expect([kind, total[kind]]).toEqual([kind, sum]);
    }
  });

  test('stream-json: session.started is out before the model is asked, then the log, line for line', async () => {
    const run = place.start(['run', '--output', 'stream-json', 'hang']);
    const first = JSON.parse((await run.line())!) as Record<string, unknown>;
    expect(first).toMatchObject({ type: 'session.started', seq: 1, kind: 'root' });
    expect(first.session).toMatch(/^s_/);
    run.process.kill('SIGKILL');
    await run.ended;

    const { stdout } = await place.run(['run', '--output', 'stream-json', 'delegate']);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events[0]).toMatchObject({ type: 'session.started', kind: 'root' });
    const root = events[0]!.session;
    const children = events.filter(({ type, kind }) => type === 'session.started' && kind === 'child');
    expect(children).toHaveLength(2);
    expect(events.at(-1)).toMatchObject({ type: 'turn.ended', session: root, status: 'completed' });
    for (const session of new Set(events.map((event) => event.session as string))) {
      const { stdout: log } = await place.run(['session', 'export', session, '--format', 'jsonl']);
      const own = events.filter((event) => event.session === session);
      expect(own).toEqual(
        log
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
      );
    }
  });

  test('line separators of Unicode do not break a line', async () => {
    const { stdout } = await place.run(['run', '--output', 'stream-json', 'separators']);
    expect(stdout).not.toMatch(/[\u2028\u2029]/);
    expect(stdout).toContain('"answer":"a\\u2028b\\u2029c"');
    const { answer } = await place.json<RunJson>(['run', '--output', 'json', 'separators']);
    expect(answer).toBe('a\u2028b\u2029c');
  });

  test('a reader that goes away ends the run quietly, and it is written down', async () => {
    const run = place.start(['run', '--output', 'stream-json', 'delegate']);
    await run.line();
    run.process.stdout!.destroy();
    const { code, stderr } = await run.ended;
    expect(code).toBe(130);
    expect(stderr).toBe('');
    const { status } = (await place.json<{ sessions: { status: string }[] }>(['session', 'list', '--json']))
      .sessions[0]!;
    expect(status).toBe('cancelled');
  });

  test('a data command whose reader goes away is content', async () => {
    for (let index = 0; index < 40; index++) place.skill(`filler-${index}`, `description: ${'long '.repeat(500)}`);
    const list = place.start(['skill', 'list', '--json']);
    await list.line();
    list.process.stdout!.destroy();
    expect(await list.ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('exit codes', () => {
  test.each([
    ['the model fails', ['refuse'], 1, 'failed'],
    ['a limit is hit', ['delegate', '--max-steps', '1'], 3, 'limit'],
    ['time is up', ['slow', '--timeout', '300ms'], 3, 'limit'],
    ['there is no answer', ['silent'], 4, 'no_answer'],
  ])('%s', async (_, args, code, status) => {
    const run = await place.run(['run', '--output', 'json', ...args]);
    expect(run.code).toBe(code);
    const result = JSON.parse(run.stdout) as RunJson;
    expect(result.status).toBe(status);
    expect(result.error).toEqual(expect.any(String));
  });

  test.each([
    ['an unknown model', ['hi', '--model', 'demo/nope'], {}, 'nope'],
    ['an unknown skill', ['--skill', 'helpr', 'hi'], {}, 'nearest: helper'],
    ['a missing script', ['hi', '-e', 'providers.demo.script=gone.yaml'], {}, 'gone.yaml'],
    ['a wrong -e', ['hi', '-e', 'agent.max_dept=2'], {}, 'agent.max_depth'],
  ])('%s is a usage error', async (_, args, env, message) => {
    const { code, stdout, stderr } = await place.run(['run', ...args], { env });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    const json = await place.run(['run', '--output', 'json', ...args], { env });
    expect(JSON.parse(json.stdout)).toEqual({
      error: expect.any(String),
      code: expect.any(String),
      hint: expect.any(String),
    });
  });

  test('a missing key names the variable', async () => {
    place.write(
      'reasonix.toml',
      'default_model = "p/m"\n[[providers]]\nname = "p"\nkind = "openai"\nmodels = ["m"]\napi_key_env = "P_KEY"\n',
    );
    const { code, stderr } = await place.run(['run', 'hi']);
    expect(code).toBe(2);
    expect(stderr).toContain('P_KEY');
  });
});

describe('the task', () => {
  test('comes from stdin when there is none on the command line', async () => {
    const { code, stdout } = await place.run(['run'], { input: 'from the pipe\n' });
    expect([code, stdout]).toEqual([0, 'answer to from the pipe\n in turn 1\n']);
    expect(await place.run(['run'], { input: ' \n' })).toMatchObject({ code: 2, stdout: '' });
    expect((await place.run(['run', '-'], { input: 'dash' })).stdout).toBe('answer to dash in turn 1\n');
  });

  test('may begin with a dash after --', async () => {
    expect((await place.run(['run', '--', '--yes'])).stdout).toBe('answer to --yes in turn 1\n');
  });

  test('/name runs the skill, and its answer is the answer', async () => {
    for (const args of [
      ['run', '/helper', 'do it'],
      ['run', '--skill', 'helper', 'do it'],
      ['skill', 'run', 'helper', 'do it'],
    ]) {
      const result = await place.json<RunJson>([...args, '--output', 'json']);
      expect(result).toMatchObject({ status: 'completed', steps: 0, answer: 'child heard do it in turn 1' });
      expect(result.subagents).toMatchObject([{ skill: 'helper', parent: result.session }]);
    }
  });

  test('a path at the start of a sentence is no skill, a lone unknown word is an error', async () => {
    const answered = ['/etc/hosts is a file', '/etc/hosts', '/tmp is full, why?', 'see /helper for help'];
    for (const text of answered) expect((await place.run(['run', text])).stdout).toBe(`answer to ${text} in turn 1\n`);
    for (const text of ['/helpr', '/helpr with arguments']) {
      const { code, stderr } = await place.run(['run', text]);
      expect(code).toBe(2);
      expect(stderr).toContain('there is no skill "helpr"; nearest: helper');
    }
  });

  test('a sub-agent without a task says that it needs one', async () => {
    const { code, stderr } = await place.run(['run', '/helper']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/helper.*task|task.*helper/i);
  });
});

describe('going on', () => {
  test('--resume continues in a new process, by a unique start of the id too', async () => {
    const { session } = await place.json<RunJson>(['run', '--output', 'json', 'first']);
    const again = await place.json<RunJson>(['run', '--output', 'json', '--resume', session, 'second']);
    expect(again).toMatchObject({ session, answer: 'answer to second in turn 2', steps: 1 });
    const third = await place.json<RunJson>(['run', '--output', 'json', '--resume', session.slice(0, -3), 'third']);
    expect(third).toMatchObject({ session, answer: 'answer to third in turn 3' });
    const { stdout } = await place.run(['run', '--output', 'stream-json', '--resume', session, 'fourth']);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; seq: number });
    expect(lines[0]).toMatchObject({ type: 'session.started', seq: 1 });
    expect(lines[1]).toMatchObject({ type: 'user.message', content: 'fourth' });
  });

  test('--resume continues a sub-agent by its reference', async () => {
    const { subagents } = await place.json<RunJson>(['run', '--output', 'json', '/helper one']);
    const { ref } = subagents[0]!;
    const again = await place.json<RunJson>(['session', 'resume', ref, 'and now', '--output', 'json']);
    expect(again).toMatchObject({ session: ref, answer: 'child heard and now in turn 2' });
  });

  test('--continue takes the newest session of this folder, else starts one', async () => {
    const fresh = await place.run(['run', '--continue', 'start']);
    expect(fresh.stdout).toBe('answer to start in turn 1\n');
    expect(fresh.stderr).toContain('no session in this folder yet');
    const other = join(place.folder, 'other');
    mkdirSync(other);
    await place.run(['run', '--config', join(place.project, 'reasonix.toml'), 'elsewhere'], { cwd: other });
    expect((await place.run(['run', '--continue', 'more'])).stdout).toBe('answer to more in turn 2\n');
  });

  test('--fork leaves its source alone', async () => {
    const { session } = await place.json<RunJson>(['run', '--output', 'json', 'first']);
    const fork = await place.run(['run', '--fork', session, 'other way']);
    expect(fork.stdout).toBe('answer to other way in turn 2\n');
    expect(fork.stderr).not.toContain('answer to first');
    const copy = await place.run(['session', 'fork', session]);
    expect(copy.stdout).toMatch(/^s_[0-9a-z]{26}\n$/);
    const source = await place.json<{ messages: unknown[] }>(['session', 'show', session, '--json']);
    expect(source.messages).toHaveLength(2);
  });

  test('an empty task starts no session', async () => {
    const { code, stderr } = await place.run(['run', ' ']);
    expect(stderr).toContain('the task is empty');
    expect(code).toBe(2);
    expect((await place.json<{ sessions: unknown[] }>(['session', 'list', '--json'])).sessions).toEqual([]);
  });

  test.runIf(existsSync('/dev/full'))('an output that cannot be written is said in one line', () => {
    const env = { PATH: process.env.PATH, HOME: place.home };
    const full = openSync('/dev/full', 'w');
    try {
      for (const args of [
        ['run', 'first'],
        ['skill', 'list'],
      ]) {
        const { status, stderr } = spawnSync(process.execPath, [binary, ...args], {
          cwd: place.project,
          env,
          encoding: 'utf8',
          stdio: ['ignore', full, 'pipe'],
        });
        expect(stderr).toContain('reasonix: the output cannot be written');
        expect(stderr).not.toContain(' at ');
        expect(status).toBe(1);
      }
    } finally {
      closeSync(full);
    }
  });

  test('nothing to finish, no such session and an ambiguous start are said', async () => {
    const { session } = await place.json<RunJson>(['run', '--output', 'json', 'first']);
    await place.run(['run', 'second']);
    // stdin stays open: a run that waited for it would never end
    const nothing = await place.run(['run', '--resume', session]);
    expect(nothing.code).toBe(2);
    expect(nothing.stderr).toContain('there is nothing to finish');
    const none = await place.run(['run', '--resume', 's_nope', 'x']);
    expect(none.code).toBe(1);
    expect(none.stderr).toContain('there is no session "s_nope"');
    const several = await place.run(['run', '--resume', 's_', 'x']);
    expect(several.code).toBe(1);
    expect(several.stderr).toContain(session);
  });

  test('a session works in its own folder, and says so when that is gone', async () => {
    const other = join(place.folder, 'other');
    mkdirSync(other);
    const config = ['--config', join(place.project, 'reasonix.toml')];
    const { session } = await place.json<RunJson>(['run', '--output', 'json', 'first', ...config], { cwd: other });
    const resumed = ['run', '--resume', session, 'write', '--yes', ...config];
    expect((await place.run(resumed)).code).toBe(0);
    expect(readFileSync(join(other, 'out.txt'), 'utf8')).toBe('hello');
    rmSync(other, { recursive: true });
    const { code, stderr } = await place.run(resumed);
    expect(code).toBe(1);
    expect(stderr).toContain(other);
    expect(stderr).toContain('does not exist any more');
  });

  test('the current folder may be a link or vanish', async () => {
    const link = join(place.folder, 'link');
    symlinkSync(place.project, link);
    expect((await place.run(['run', 'hi'], { cwd: link })).code).toBe(0);
  });
});

describe('writes without a terminal', () => {
  test('are refused unless --yes or a rule allows them', async () => {
    const file = join(place.project, 'out.txt');
    const refused = await place.run(['run', 'write']);
    expect(refused.code).toBe(0);
    expect(refused.stderr).toContain('write_file failed');
    expect(refused.stderr).toContain('1 write was refused, since nobody could be asked: --allow RULE');
    expect(existsSync(file)).toBe(false);
    for (const flag of [['--yes'], ['--allow', 'write_file'], ['--allow', 'write_file(out.*)']]) {
      expect((await place.run(['run', 'write', ...flag])).code).toBe(0);
      expect(readFileSync(file, 'utf8')).toBe('hello');
      rmSync(file);
    }
    await place.run(['run', 'write', '--allow', 'write_file(other.*)']);
    expect(existsSync(file)).toBe(false);
  });
});
