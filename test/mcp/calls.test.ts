import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { built, Workplace } from '../cli/workplace.ts';
import { type Connected, type ConnectOptions, connect, fileIn, logOf, SCRIPT } from './client.ts';

// Each starts several processes, beside those of other files.
vi.setConfig({ testTimeout: 120_000 });

let place: Workplace;
const open: Connected[] = [];
beforeAll(built);
beforeEach(() => {
  place = new Workplace(SCRIPT);
  place.skill('dig', 'description: Digs.\nrunAs: subagent');
  place.skill('outer', 'description: Delegates.\nrunAs: subagent');
  place.skill('notes', 'description: How notes are written.', 'Write notes about <<arguments>>.');
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
  place.remove();
});

async function server(args: readonly string[] = [], options: ConnectOptions = {}): Promise<Connected> {
  const connected = await connect(place, args, options);
  open.push(connected);
  return connected;
}

interface Listed {
  sessions: { session: string; status: string; kind: string }[];
}
const sessions = async () => (await place.json<Listed>(['session', 'list', '--all', '--json'])).sessions;

/** What `run_skill` says in a session that starts now. */
async function catalogOfSession(args: readonly string[]): Promise<unknown> {
  const { session } = await place.json<{ session: string }>(['run', 'hello', '--output', 'json', ...args]);
  const [started] = await logOf(place, session);
  const tools = started?.tools as { name: string; description: string }[] | undefined;
  return tools?.find(({ name }) => name === 'run_skill')?.description;
}

describe('the tools', () => {
  test.each([
    ['as a catalog', []],
    ['lazily', ['-e', 'skills.lazy=true']],
  ])('name the skills %s, exactly as a session does', async (_, args) => {
    const { client } = await server(args);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'run_skill',
      'search_skills',
      'read_skill',
      'list_subagents',
      'read_result',
    ]);
    const [run, ...others] = tools;
    expect(run?.description).toBe(await catalogOfSession(args));
    expect(run?.description?.includes('- dig [subagent]: Digs.')).toBe(args.length === 0);
    expect(run?.annotations).toMatchObject({ readOnlyHint: false, openWorldHint: true });
    expect(others.every(({ annotations, title }) => annotations?.readOnlyHint && title)).toBe(true);
    expect(run?.inputSchema).toMatchObject({ type: 'object', required: ['name'] });
    expect(Object.keys(run?.inputSchema.properties ?? {})).not.toContain('background');
    expect(client.getInstructions()).toContain(place.project);
  });

  test('are announced again when a skill came, and it runs at once', async () => {
    const { client, run, listChanged } = await server();
    await client.listTools();
    place.skill('fresh', 'description: New.\nrunAs: subagent');
    expect((await run({ name: 'fresh', arguments: 'x' })).run.status).toBe('completed');
    await listChanged;
    expect((await client.listTools()).tools[0]?.description).toContain('- fresh [subagent]: New.');
  });

  test('take over the changes of a worktree only where a skill makes one', async () => {
    place.skill('careful', 'description: Works apart.\nrunAs: subagent\nisolation: worktree');
    const { client } = await server();
    const { tools } = await client.listTools();
    expect(tools.at(-1)).toMatchObject({ name: 'apply_diff', annotations: { destructiveHint: true } });
  });
});

describe('run_skill', () => {
  test('gives the text of an inline skill, and starts no session for it', async () => {
    const { run, call } = await server();
    const { text, isError } = await run({ name: 'notes', arguments: 'the sea' });
    expect(isError).toBe(false);
    expect(text).toMatch(/^<skill-pin name="notes">/);
    expect(text).toContain('Write notes about the sea.');
    expect((await run({ name: 'notes', arguments: 'the sea' })).text).toBe(text);
    expect((await call('read_skill', { name: 'dig' })).text).toContain('call run_skill');
    expect(JSON.parse((await call('search_skills', { pattern: 'digs' })).text).skills[0].name).toBe('dig');
    expect(await sessions()).toEqual([]);
  });

  test('runs a sub-agent: the lines of a result, and the same as data', async () => {
    const { run } = await server();
    const { text, isError, run: data } = await run({ name: 'dig [subagent]', arguments: 'gold' });
    expect(isError).toBe(false);
    expect(text).toBe(
      [
        `Subagent reference: ${data.ref}`,
        'Status: completed',
        `Skill: dig · steps 1 · tokens ${data.usage.input + data.usage.output}`,
        `Continue with run_skill {"name":"dig","continue_from":"${data.ref}","arguments":"…"}.`,
        '',
        'heard gold in turn 1, first gold',
      ].join('\n'),
    );
    expect(data).toMatchObject({
      ref: expect.stringMatching(/^sa_/),
      status: 'completed',
      answer: 'heard gold in turn 1, first gold',
      skill: 'dig',
      steps: 1,
    });
  });

  test('goes on in a thread: in the same connection, and in a later one', async () => {
    const first = await server();
    const { ref } = (await first.run({ name: 'dig', arguments: 'gold' })).run;
    const more = await first.run({ name: 'dig', arguments: 'silver', continue_from: ref });
    expect(more.run).toMatchObject({ ref, answer: 'heard silver in turn 2, first gold' });
    await first.close();
    const second = await server();
    expect((await second.call('list_subagents')).text).toMatch(new RegExp(`^${ref} · dig · completed · 2 steps`));
    const again = await second.run({ name: 'dig', arguments: 'lead', continue_from: ref });
    expect(again.run).toMatchObject({ ref, answer: 'heard lead in turn 3, first gold' });
    expect((await sessions()).map(({ kind }) => kind).sort()).toEqual(['child', 'root']);
  });

  test('copies a thread, and hands the answers of others on whole', async () => {
    const { run } = await server();
    const one = (await run({ name: 'dig', arguments: 'gold' })).run;
    const two = (await run({ name: 'dig', arguments: 'silver' })).run;
    const copy = (await run({ name: 'dig', arguments: 'lead', fork_from: one.ref })).run;
    expect(copy.ref).not.toBe(one.ref);
    expect(copy.answer).toBe('heard lead in turn 2, first gold');
    const both = (await run({ name: 'dig', arguments: 'sum up', inputs_from: [one.ref, two.ref] })).run;
    expect(both.answer).toContain('heard gold in turn 1, first gold');
    expect(both.answer).toContain('heard silver in turn 1, first silver');
  });

  test('runs a list of items', async () => {
    const { run } = await server();
    const { run: data, isError } = await run({ name: 'dig', items: ['gold', 'silver'] });
    expect(isError).toBe(false);
    expect(data.subagents?.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(data.answer).toContain('heard silver');
  });

  test('two calls run at the same time', async () => {
    const { run } = await server();
    const said: string[] = [];
    const onprogress = ({ message = '' }: { message?: string | undefined }) => void said.push(message);
    const [one, two] = await Promise.all([
      run({ name: 'dig', arguments: 'slow one' }, { onprogress }),
      run({ name: 'dig', arguments: 'slow two' }, { onprogress }),
    ]);
    expect([one?.run.answer, two?.run.answer]).toEqual(['slow slow one is done', 'slow slow two is done']);
    const started = said.flatMap((line, index) => (line.includes('started') ? [index] : []));
    expect(started).toHaveLength(2);
    expect(Math.max(...started)).toBeLessThan(said.findIndex((line) => line.includes('completed')));
  });

  test('two calls for one thread: one goes on, the other is told to wait', async () => {
    const { run } = await server();
    const { ref } = (await run({ name: 'dig', arguments: 'gold' })).run;
    const both = await Promise.all([
      run({ name: 'dig', arguments: 'slow a', continue_from: ref }),
      run({ name: 'dig', arguments: 'slow b', continue_from: ref }),
    ]);
    expect(both.filter(({ isError }) => isError).map(({ text }) => text)).toEqual([
      expect.stringContaining('is at work right now'),
    ]);
    expect((await run({ name: 'dig', arguments: 'lead', continue_from: ref })).run.answer).toContain('in turn 3');
  });

  test('keeps a long answer within bounds, in both forms; read_result has the rest', async () => {
    const { run, call } = await server();
    const { text, run: data } = await run({ name: 'dig', arguments: 'long' });
    for (const form of [text, data.answer]) {
      expect(Buffer.byteLength(form)).toBeLessThan(33 * 1024);
      expect(form).toContain('read on with read_result');
    }
    expect((await call('read_result', { reference: data.ref, offset: 49_990 })).text).toMatch(/ last$/);
    const [, id] = /read_result \{"id":"(\w+)"/.exec(text) ?? [];
    expect((await call('read_result', { id, offset: 49_990 })).text).toMatch(/ last$/);
  });
});

describe('progress', () => {
  test('tells skill, step and tools, rising, before the result', async () => {
    const { run } = await server();
    const seen: { progress: number; message?: string | undefined; total?: number | undefined }[] = [];
    await run({ name: 'outer', arguments: 'gold' }, { onprogress: (progress) => void seen.push(progress) });
    const numbers = seen.map(({ progress }) => progress);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    expect(seen.every(({ total }) => total === undefined)).toBe(true);
    const lines = seen.map(({ message = '' }) => message.replace(/sa_\w+/, 'sa_…'));
    expect(lines).toEqual([
      'outer: starting',
      'outer: started sa_…',
      'outer: step 1: run_skill',
      'outer › dig: started sa_…',
      'outer › dig: step 1',
      'outer › dig: completed after 1 step',
      'outer: step 2',
      'outer: completed after 2 steps',
    ]);
  });

  test('is sent only to a client that asked for it', async () => {
    const raw = place.start(['mcp']);
    const send = (id: number, method: string, params: object) =>
      raw.process.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    const clientInfo = { name: 'raw', version: '1' };
    send(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    const call = { name: 'run_skill', arguments: { name: 'dig', arguments: 'gold' } };
    send(1, 'tools/call', call);
    const methods: string[] = [];
    for (let line = await raw.line(); line !== undefined; line = await raw.line()) {
      const { id, method } = JSON.parse(line) as { id?: number; method?: string };
      if (method) methods.push(method);
      if (id === 2) break;
      if (id !== 1) continue;
      expect(methods).toEqual([]);
      send(2, 'tools/call', { ...call, _meta: { progressToken: 'a' } });
    }
    expect(methods.filter((method) => method === 'notifications/progress').length).toBeGreaterThan(2);
    raw.process.stdin?.end();
    expect((await raw.ended).code).toBe(0);
  });
});

describe('what cannot be done is a result that a model can act on', () => {
  const wrong: [what: string, tool: string, input: Record<string, unknown>, says: RegExp][] = [
    ['an unknown skill', 'run_skill', { name: 'digg', arguments: 'x' }, /no skill "digg"\. Nearest of \d+: dig/],
    ['no task', 'run_skill', { name: 'dig' }, /needs a task/],
    ['no name', 'run_skill', { arguments: 'x' }, /name: required/],
    ['a wrong kind of value', 'run_skill', { name: 5 }, /name: .*expected string/],
    ['a wrong limit', 'search_skills', { pattern: 'x', limit: -1 }, /limit: /],
    ['an unknown reference', 'run_skill', { name: 'dig', arguments: 'x', continue_from: 'sa_0000000' }, /no sub-agent/],
    ['a path for a reference', 'run_skill', { name: 'dig', arguments: 'x', fork_from: '../../etc' }, /no sub-agent/],
    [
      'two threads',
      'run_skill',
      { name: 'dig', arguments: 'x', continue_from: 'sa_1', fork_from: 'sa_2' },
      /continue_from/,
    ],
    ['the thread of an inline skill', 'run_skill', { name: 'notes', continue_from: 'sa_00000' }, /inline skill/],
    ['items of an inline skill', 'run_skill', { name: 'notes', items: ['x'] }, /inline/],
    ['an unknown result', 'read_result', { reference: 'call_nothing' }, /call_nothing/],
  ];

  test('and starts no session', async () => {
    const { call } = await server();
    for (const [what, name, input, says] of wrong) {
      expect(await call(name, input), what).toMatchObject({ isError: true, text: expect.stringMatching(says) });
    }
    expect(await sessions()).toEqual([]);
    // An unknown tool is an error of the protocol.
    await expect(call('run_skil', {})).rejects.toThrow(/there is no tool "run_skil"; there are run_skill/);
  });

  test('a skill that only users may start stays with them; one that only models may start runs', async () => {
    place.skill('deploy', 'description: Deploys.\nrunAs: subagent\ndisable-model-invocation: true');
    place.skill('inner', 'description: For models.\nrunAs: subagent\nuser-invocable: false');
    const { run } = await server();
    expect(await run({ name: 'deploy', arguments: 'x' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('only be started by the user'),
    });
    expect((await run({ name: 'inner', arguments: 'x' })).run.status).toBe('completed');
  });

  test('a thread of another skill, and one of another folder, also for its answer', async () => {
    const first = await server();
    const { ref } = (await first.run({ name: 'dig', arguments: 'gold' })).run;
    const before = (await logOf(place, ref ?? '')).length;
    expect(await first.run({ name: 'outer', arguments: 'x', continue_from: ref })).toMatchObject({
      isError: true,
      text: expect.stringContaining('runs the skill "dig", not "outer"'),
    });
    expect(await logOf(place, ref ?? '')).toHaveLength(before);
    const elsewhere = join(place.folder, 'elsewhere');
    mkdirSync(join(elsewhere, '.git'), { recursive: true });
    const other = await server(['--config', fileIn(place, 'reasonix.toml')], { cwd: elsewhere });
    for (const input of [
      { name: 'explore', arguments: 'x', continue_from: ref },
      { name: 'explore', arguments: 'x', fork_from: ref },
      { name: 'explore', arguments: 'x', inputs_from: [ref] },
    ]) {
      expect((await other.run(input)).text).toContain('works in another folder');
    }
    expect((await other.call('read_result', { reference: ref })).text).toContain('works in another folder');
    expect((await other.call('list_subagents')).text).not.toContain(ref);
  });

  test('limits hold at every depth, and say who set them', async () => {
    const flat = await server(['--max-depth', '0']);
    expect(await flat.run({ name: 'dig', arguments: 'x' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('--max-depth'),
      run: { status: 'limit:depth', answer: '' },
    });
    const one = await server(['--max-spawns', '1']);
    const { run, isError } = await one.run({ name: 'outer', arguments: 'x' });
    expect(isError).toBe(false);
    expect(run.answer).toMatch(/below: .*ceiling of 1/);
    expect((await one.run({ name: 'dig', arguments: 'x' })).run.status).toBe('completed');
  });
});

describe('a write that no rule allows', () => {
  test('is refused where nobody can be asked, with the way to allow it; --allow does', async () => {
    const strict = await server();
    const { texts, run } = await strict.run({ name: 'dig', arguments: 'write' });
    expect(run.answer).toContain('Not allowed: write_file');
    expect(texts.at(-1)).toContain('Refused, since nobody could be asked: write_file');
    expect(texts.at(-1)).toContain('--allow RULE');
    expect(existsSync(fileIn(place, 'out.txt'))).toBe(false);
    const lax = await server(['--allow', 'write_file']);
    expect((await lax.run({ name: 'dig', arguments: 'write' })).texts).toHaveLength(1);
    expect(readFileSync(fileIn(place, 'out.txt'), 'utf8')).toBe('written');
  });

  test('is asked about where the client can put questions', async () => {
    const questions: string[] = [];
    const answers = [
      { action: 'decline' as const },
      { action: 'accept' as const, content: { allow: 'no' } },
      { action: 'accept' as const, content: { allow: 'once' } },
    ];
    const { run } = await server([], {
      elicit: (message) => {
        questions.push(message);
        return answers.shift() ?? { action: 'cancel' };
      },
    });
    for (let no = 0; no < 2; no++) {
      expect((await run({ name: 'dig', arguments: 'write' })).text).toContain('the user said no');
      expect(existsSync(fileIn(place, 'out.txt'))).toBe(false);
    }
    await run({ name: 'dig', arguments: 'write' });
    expect(readFileSync(fileIn(place, 'out.txt'), 'utf8')).toBe('written');
    expect(questions).toHaveLength(3);
    expect(questions[0]).toMatch(/^dig \(sa_\w+\) wants to use write_file: .*out\.txt/);
  });
});
