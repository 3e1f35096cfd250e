import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { built, Workplace } from './workplace.ts';

const SCRIPT = `
rules:
  - name: child
    when: { kind: child }
    text: "child says <b>bold</b> & \`\`\`fenced\`\`\`"
  - name: delegate
    when: { turn_step: 1, turn: 1 }
    text: "I ask."
    calls: [{ name: run_skill, arguments: { name: helper, arguments: "look" } }]
  - name: answer
    text: "all done"
`;

interface Shown {
  session: string;
  status: string;
  steps: number;
  messages: { role: string; content: string; child?: string | null; tool_calls?: unknown[] }[];
}

let place: Workplace;
let session: string;
let child: string;
beforeAll(async () => {
  await built();
  place = new Workplace(SCRIPT);
  place.skill('helper', 'description: Helps.\nrunAs: subagent');
  const result = await place.json<{ session: string; subagents: { ref: string }[] }>([
    'run',
    'first task',
    '--output',
    'json',
  ]);
  session = result.session;
  child = result.subagents[0]!.ref;
});
afterAll(() => place.remove());

describe('reading sessions', () => {
  test('list shows the sessions of this folder; --all those of every folder, and sub-agents', async () => {
    const { stdout } = await place.run(['session', 'list']);
    expect(stdout).toMatch(new RegExp(`^${session} +completed +now +first task$`, 'm'));
    expect(stdout).not.toContain(child);
    expect((await place.run(['session', 'list', '--all'])).stdout).toContain(child);
    const elsewhere = await place.run(['session', 'list'], { cwd: place.home });
    expect(elsewhere).toMatchObject({ code: 0, stdout: '' });
    const { sessions } = await place.json<{ sessions: Record<string, unknown>[] }>(['session', 'list', '--json']);
    expect(sessions).toMatchObject([
      { session, kind: 'root', status: 'completed', title: 'first task', cwd: place.project, holder: null },
    ]);
  });

  test('show --usage gives the sums, with --full the steps; a price that is not known is not nothing', async () => {
    const { stdout } = await place.run(['session', 'show', session, '--usage', '--full']);
    expect(stdout).toMatch(/^2 steps\n/);
    expect(stdout).toMatch(/^own .* unknown$/m);
    expect(stdout).toMatch(/^sub-agents .* unknown$/m);
    expect(stdout).toMatch(/^STEP +INPUT/m);
    const report = await place.json<Record<string, unknown>>(['session', 'show', session, '--usage', '--json']);
    expect(report).toMatchObject({ session, steps: [{ step: 1 }, { step: 2 }], total: { cost: null } });
  });

  test('show --json gives the messages, the text view the same to read', async () => {
    const shown = await place.json<Shown>(['session', 'show', session, '--json']);
    expect(shown).toMatchObject({ session, status: 'completed', steps: 2 });
    expect(shown.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(shown.messages[1]!.tool_calls).toHaveLength(1);
    expect(shown.messages[2]).toMatchObject({ name: 'run_skill', child, is_error: false });
    expect(shown.messages[3]).toMatchObject({ content: 'all done' });
    const { stdout } = await place.run(['session', 'show', session.slice(0, -2)]);
    for (const part of ['first task', 'I ask.', 'calls run_skill', child, 'all done', 'turn completed'])
      expect(stdout).toContain(part);
  });

  test('show --context gives what the model would be sent now, with its tokens', async () => {
    const context = await place.json<{
      session: string;
      tokens: number;
      window: number;
      share: number;
      messages: { role: string; from: string | null; tokens: number; calls: string[] }[];
      compactions: unknown[];
    }>(['session', 'show', session, '--context', '--json']);
    expect(context).toMatchObject({
      session,
      window: 128_000,
      counted_by: 'provider',
      compact_at: 0.8,
      compactions: [],
    });
    expect(context.messages.map(({ role, from }) => [role, from])).toEqual([
      ['user', 'user'],
      ['assistant', null],
      ['tool', 'run_skill'],
      ['assistant', null],
    ]);
    expect(context.messages[1]?.calls).toEqual(['run_skill']);
    expect(context.tokens).toBeGreaterThan(context.messages.reduce((sum, { tokens }) => sum + tokens, 0));
    const { stdout } = await place.run(['session', 'show', session, '--context']);
    expect(stdout).toMatch(/^[\d,]+ of 128,000 tokens \(\d+%, by its provider\); compacted from 80% on\n/);
    expect(stdout).toContain('first task');
  });

  test('tree shows who asked whom', async () => {
    const { stdout } = await place.run(['session', 'tree', session]);
    expect(stdout).toMatch(
      new RegExp(`^${session} · completed · 2 steps .*\n└─ helper ${child} · completed · 1 step `),
    );
    expect(await place.json(['session', 'tree', session, '--json'])).toMatchObject({
      session,
      children: [{ session: child, skill: 'helper', children: [] }],
    });
  });

  test('export writes markdown with fences that hold, safe HTML, and the log', async () => {
    const markdown = await place.run(['session', 'export', session]);
    expect(markdown.stdout).toContain('# first task');
    expect(markdown.stdout).toMatch(/^````\n[\s\S]*```fenced```\n````$/m);
    const file = join(place.folder, 'page.html');
    const html = await place.run(['session', 'export', session, '--format', 'html', '--tree', '-o', file]);
    expect(html).toMatchObject({ code: 0, stdout: '' });
    const page = readFileSync(file, 'utf8');
    expect(page).toContain('child says &lt;b&gt;bold&lt;/b&gt; &amp;');
    expect(page).not.toContain('<b>');
    expect(page).toContain(`<article id="${child}">`);
    expect(page).not.toMatch(/<script|https?:/);
    const lines = (await place.run(['session', 'export', session, '--format', 'jsonl', '--tree'])).stdout
      .trimEnd()
      .split('\n');
    const events = lines.map((line) => JSON.parse(line) as { session: string; seq: number });
    expect(new Set(events.map((event) => event.session))).toEqual(new Set([session, child]));
    expect(
      await place.run(['session', 'export', session, '-o', join(place.folder, 'no/such/folder.md')]),
    ).toMatchObject({ code: 2 });
  });

  test('an unknown session is said in each of them', async () => {
    for (const verb of ['show', 'tree', 'export', 'rm', 'resume', 'fork']) {
      const { code, stderr } = await place.run(['session', verb, 's_unknown', ...(verb === 'fork' ? ['x'] : [])]);
      expect([verb, code]).toEqual([verb, 1]);
      expect(stderr).toContain('there is no session "s_unknown"');
    }
  });
});

describe('session rm', () => {
  test('needs a yes, and takes the sub-agents along', async () => {
    const { session: doomed } = await place.json<{ session: string }>(['run', 'second task', '--output', 'json']);
    const asked = await place.run(['session', 'rm', doomed]);
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain('--yes');
    const { removed } = await place.json<{ removed: string[] }>(['session', 'rm', doomed, '--yes', '--json']);
    expect(removed).toHaveLength(2);
    expect(removed.at(-1)).toBe(doomed);
    const { sessions } = await place.json<{ sessions: { session: string }[] }>(['session', 'list', '--all', '--json']);
    expect(sessions.map((each) => each.session).sort()).toEqual([session, child].sort());
  });
});

describe('session gc', () => {
  /** Makes a session and its children look as if nobody had written to them for years. */
  function age(root: string, status?: string): void {
    const db = new DatabaseSync(join(place.reasonixHome, 'sessions.db'));
    db.prepare(
      "update sessions set updated_at = '2020-01-01T00:00:00.000Z', status = coalesce(?, status) where root = ?",
    ).run(status ?? null, root);
    db.close();
  }
  const start = async (task: string) =>
    (await place.json<{ session: string }>(['run', task, '--output', 'json'])).session;
  const all = async () => {
    const { sessions } = await place.json<{ sessions: { session: string }[] }>(['session', 'list', '--all', '--json']);
    return sessions.map((each) => each.session);
  };

  test('removes whole trees that are old and done, and says before what it would', async () => {
    const [old, cut, fresh] = [await start('old task'), await start('cut task'), await start('fresh task')];
    age(old);
    age(cut, 'open');
    const { would_remove: planned } = await place.json<{ would_remove: string[] }>([
      'session',
      'gc',
      '--dry-run',
      '--json',
    ]);
    expect(planned).toHaveLength(2);
    expect(planned[0]).toBe(old);
    expect(await all()).toEqual(expect.arrayContaining(planned));

    const asked = await place.run(['session', 'gc']);
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
    expect((await place.run(['session', 'gc', '--yes'])).stdout).toBe('removed 2 sessions in 1 tree\n');
    const left = await all();
    expect(left).not.toContain(old);
    expect(left).toEqual(expect.arrayContaining([cut, fresh]));

    const { removed } = await place.json<{ removed: string[] }>(['session', 'gc', '--interrupted', '--yes', '--json']);
    expect(removed).toContain(cut);
    await place.run(['session', 'rm', fresh, '--yes']);
  });

  test('removes packed skills that no session needs any more, and keeps those of the last day', async () => {
    const db = new DatabaseSync(join(place.reasonixHome, 'sessions.db'));
    const blobs = [
      ['old', 0],
      ['new', Date.now()],
    ] as const;
    for (const [text, usedAt] of blobs)
      db.prepare('insert into blobs (hash, used_at, data) values (?, ?, ?)').run(text, usedAt, Buffer.from(text));
    const { stdout } = await place.run(['session', 'gc', '--yes']);
    expect(stdout).toBe('removed 0 sessions in 0 trees, and 1 file of skills that no session needs\n');
    expect(db.prepare('select hash from blobs').all()).toEqual([{ hash: 'new' }]);
    expect(await place.json(['session', 'gc', '--yes', '--json'])).toEqual({ removed: [], skill_files: 0 });
    db.close();
  });
});

test('chat says that it has no model before somebody has typed a message', async () => {
  // stdin stays open: a chat that waited for a message would never end
  const { code, stderr } = await place.run(['chat', '--model', 'nope/m']);
  expect(code).toBe(2);
  expect(stderr).toContain('no model "nope/m" is configured');
  expect(stderr).not.toContain('/help');
});

test('chat answers a message a line, runs commands, and goes on with a session', async () => {
  const script =
    'hello\n/skills help\n/helper look\n/tree\n/compact\n/unknown\n/disable_skill helper\n/helper again\n/enable_skill helper\n/quit\nnever\n';
  const { code, stdout, stderr } = await place.run(['chat'], { input: script });
  expect(code).toBe(0);
  expect(stdout).toContain('all done\n');
  expect(stdout).toContain('child says');
  expect(stdout).not.toContain('never');
  expect(stderr).toMatch(/^\/helper +subagent +Helps\.$/m);
  expect(stderr).toMatch(/└─ helper sa_/);
  expect(stderr).toContain('there is nothing worth summing up yet');
  expect(stderr).toContain('there is no command or skill /unknown');
  expect(stderr).toContain('helper is refused in this session');
  expect(stderr).toMatch(/failed · 0 steps/);
  const [, resumed = ''] = /reasonix chat --resume (s_[0-9a-z]+)/.exec(stderr) ?? [];
  const again = await place.run(['chat', '--resume', resumed], { input: 'more\n' });
  expect(again.stdout).toBe('all done\n');
  expect(existsSync(join(place.reasonixHome, 'chat-history'))).toBe(false);
});
