import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { shellTool } from '../../src/tools/shell.ts';
import { commandEnvironment } from '../../src/tools/shell-environment.ts';
import { ShellOutput } from '../../src/tools/shell-output.ts';
import { Workspace } from '../../src/tools/workspace.ts';
import { spawnTs } from '../helpers/spawn-ts.ts';
import { type Answer, call, temporaryFolder } from './tool-call.ts';

let cwd: string;
let run: (command: string, more?: { timeout?: number; signal?: AbortSignal }) => Promise<Answer>;

beforeEach(async () => {
  cwd = await temporaryFolder();
  const tool = shellTool(new Workspace({ cwd }), { environment: { ...process.env, MY_API_KEY: 'k', PLAIN: 'p' } });
  run = (command, { signal, ...more } = {}) => call(tool, { command, ...more }, signal ? { signal } : {});
});

/** Processes that run now and have `mark` in their command line. */
function alive(mark: string): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid,stat,args'], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line.includes(mark) && !/^\s*\d+\s+Z/.test(line) && !line.includes('ps -eo'));
}

/** A duration of sleep that no other process has. */
const unique = () => `9${process.pid}.${Math.floor(Math.random() * 1e9)}`;

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('it did not happen within 5 s');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe.skipIf(process.platform === 'win32')('shell', () => {
  it('gives both outputs in their order and the exit code', async () => {
    expect(await run('for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 3')).toEqual({
      content: 'out1\nerr1\nout2\nerr2\nout3\nerr3\n[exit code 3]',
      isError: true,
    });
    expect(await run('printf x')).toEqual({ content: 'x\n[exit code 0]', isError: false });
    expect(await run('true')).toEqual({ content: '[exit code 0]', isError: false });
    expect((await run('kill -9 $$')).content).toBe('[ended by SIGKILL]');
  });

  it('runs in the working folder, without input', async () => {
    expect((await run('pwd; cat; echo end')).content).toBe(`${cwd}\nend\n[exit code 0]`);
  });

  it('hides what looks like a secret', async () => {
    expect((await run('echo "[$MY_API_KEY] [$PLAIN]"')).content).toContain('[] [p]');
  });

  it('does not wait for a grandchild that keeps the pipe open, and ends it (F12)', async () => {
    const seconds = unique();
    const started = performance.now();
    const answer = await run(`sleep ${seconds} & echo ok`);
    expect(answer).toEqual({
      content: 'ok\n[exit code 0; processes left in the background were stopped]',
      isError: false,
    });
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(alive(seconds)).toEqual([]);
  });

  it('does not wait for one that left the group either', async () => {
    const seconds = `7.${process.pid}`;
    const answer = await run(`setsid sleep ${seconds} & sleep 0.2; echo ok`);
    expect(answer.content).toContain('ok');
    expect(alive(seconds)).toHaveLength(1);
  });

  it('stops the whole tree at the time limit and keeps what it wrote', async () => {
    const seconds = unique();
    const answer = await run(`echo begun; sleep ${seconds} & (sleep ${seconds}; echo never)`, { timeout: 0.5 });
    expect(answer.isError).toBe(true);
    expect(answer.content).toBe('begun\n[timed out after 0.5 s, all its processes were stopped]');
    expect(alive(seconds)).toEqual([]);
  });

  it('kills what ignores being asked to end', async () => {
    const seconds = unique();
    const answer = await run(`trap "" TERM; echo stubborn; sleep ${seconds}`, { timeout: 0.3 });
    expect(answer.content).toContain('stubborn\n[timed out');
    expect(alive(seconds)).toEqual([]);
  });

  it('stops the whole tree when aborted, in the middle and before', async () => {
    const seconds = unique();
    const stop = new AbortController();
    const answer = run(`sleep ${seconds} & sh -c 'sleep ${seconds}; true' & echo $$ > started; wait`, {
      signal: stop.signal,
    });
    await until(() => alive(`sleep ${seconds}`).length >= 2);
    stop.abort(new Error('enough'));
    expect(await answer).toEqual({ content: 'enough', isError: true });
    expect(alive(seconds)).toEqual([]);
    expect(await readFile(join(cwd, 'started'), 'utf8')).toMatch(/^\d+\n$/);
    expect(await run('touch never', { signal: stop.signal })).toEqual({ content: 'enough', isError: true });
    expect((await run('ls')).content).not.toContain('never');
  });

  it('keeps head and tail of an endless output in bounded memory (F32)', async () => {
    const before = process.memoryUsage().rss;
    const answer = await run('echo first; yes "🎯é" | head -c 60000000; echo; echo last');
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 * 1024);
    expect(answer.content.startsWith('first\n')).toBe(true);
    expect(answer.content.endsWith('last\n[exit code 0]')).toBe(true);
    expect(answer.content).toMatch(/bytes of output not kept/);
    expect(answer.content.length).toBeLessThan(1_200_000);
    expect(answer.content.isWellFormed()).toBe(true);
  });

  it('refuses an empty command and says when the folder is gone', async () => {
    expect((await run(' ')).content).toBe('command is empty.');
    expect((await run('echo \0')).content).toContain('NUL');
    const gone = shellTool(new Workspace({ cwd: join(cwd, 'gone') }));
    expect((await call(gone, { command: 'true' })).content).toContain('no longer exists');
  });

  it('does not outlive the process that started it', async () => {
    const seconds = unique();
    const child = await spawnTs(new URL('./shell-child.ts', import.meta.url), { args: [cwd, `sleep ${seconds}`] });
    // the child's own command line holds the mark too
    await until(() => alive(seconds).some((line) => !line.includes('.mjs')));
    child.write('leave');
    expect((await child.exited).code).toBe(0);
    await until(() => alive(seconds).length === 0);
    expect(alive(seconds)).toEqual([]);
  });
});

describe('output', () => {
  it('drops colours and what was drawn over', () => {
    const output = new ShellOutput();
    output.push(Buffer.from('\x1b[31mred\x1b[0m\r\n10%\r50%\r100%\nend\r\n'));
    expect(output.text()).toBe('red\r\n100%\nend\r\n');
  });

  it('cuts at whole signs wherever the gap falls', () => {
    for (let lead = 0; lead < 4; lead++) {
      const output = new ShellOutput();
      output.push(Buffer.from('a'.repeat(lead)));
      for (let round = 0; round < 40; round++) output.push(Buffer.from('🎯'.repeat(10_000)));
      const text = output.text();
      expect(text).not.toContain('\uFFFD');
      expect(text).toContain('not kept');
    }
  });
});

describe('environment', () => {
  it.each([
    ['OPENAI_API_KEY', 'x'],
    ['GITHUB_TOKEN', 'x'],
    ['AWS_SECRET_ACCESS_KEY', 'x'],
    ['DB_PASSWORD', 'x'],
    ['PGPASSWORD', 'x'],
    ['MYSQL_PWD', 'x'],
    ['GH_PAT', 'x'],
    ['my_apikey', 'x'],
    ['DATABASE_URL', 'postgres://me:pass@host/db'],
    ['HARMLESS_NAME', 'sk-abcdef'],
  ])('leaves out %s', (name, value) => {
    expect(commandEnvironment({ [name]: value })).not.toHaveProperty(name);
    expect(commandEnvironment({ [name]: value }, { keep: [name] })).toHaveProperty(name, value);
  });

  it.each([
    ['PATH', '/bin'],
    ['PWD', '/x'],
    ['OLDPWD', '/x'],
    ['HOME', '/x'],
    ['SSH_AUTH_SOCK', '/x'],
    ['TOKENIZERS_PARALLELISM', '1'],
    ['KEYBOARD', 'us'],
    ['MONKEY', '1'],
    ['HTTP_PROXY', 'http://proxy:8080'],
  ])('keeps %s', (name, value) => {
    expect(commandEnvironment({ [name]: value })).toHaveProperty(name, value);
  });
});
