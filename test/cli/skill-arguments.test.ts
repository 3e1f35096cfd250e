import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { StoredEvent } from '../../src/core/events.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { built, Workplace } from './workplace.ts';

const SCRIPT = 'rules: [{ name: any, text: "done" }]\n';
const NAMED = 'arguments: [tag, audience]\nargument-hint: tag=v1 audience=users';
const BODY = 'For <<audience>> since <<tag>>: <<arguments>> ({{arguments}}, $ARGUMENTS).\nShown: \\<<arguments>>\n';

let place: Workplace;
beforeAll(built);
beforeEach(() => {
  place = new Workplace(SCRIPT);
  place.skill('notes', `description: Notes.\n${NAMED}`, BODY);
  place.skill('child', `description: A child.\nrunAs: subagent\n${NAMED}`, BODY);
});
afterEach(() => place.remove());

type Started = Extract<StoredEvent, { type: 'session.started' }>;
const eventsOf = <Type extends StoredEvent['type']>(events: readonly StoredEvent[], type: Type) =>
  events.filter((event): event is Extract<StoredEvent, { type: Type }> => event.type === type);

/** What a skill was rendered to: the pin, or the system prompt and the task of the child. */
async function rendered(sessions: readonly string[]): Promise<string> {
  const store = await openSqliteStore({ home: place.reasonixHome });
  try {
    const logs = await Promise.all(sessions.map((session) => store.read(session)));
    const child = logs.find((events) => (events[0] as Started).kind === 'child');
    if (child) return `${(child[0] as Started).system}\n\n${eventsOf(child, 'user.message')[0]!.content}`;
    const events = logs[0]!;
    return eventsOf(events, 'tool.result')[0]?.content ?? eventsOf(events, 'user.message')[0]!.content;
  } finally {
    await store.close();
  }
}

interface Ran {
  sessions: string[];
  error?: string | undefined;
}
type Way = (name: string, given: string) => Promise<Ran>;

const inProcess =
  (start: (name: string, given: string) => { call?: unknown }): Way =>
  async (name, given) => {
    const { call } = start(name, given);
    const model = scriptedModel((request) =>
      call && request.messages.length === 1 && !request.skill
        ? { calls: [{ name: 'run_skill', arguments: JSON.stringify(call) }] }
        : 'done',
    );
    const runtime = await openRuntime({ cwd: place.project, home: place.home, env: {}, model });
    onTestFinished(() => runtime.close());
    const session = await runtime.session();
    const run = call ? session.send('go') : session.runSkill({ name, arguments: given });
    const result = await run.result.catch((error: Error) => error);
    if (result instanceof Error) return { sessions: [session.id], error: result.message };
    const failed = eventsOf(await runtime.store.read(session.id), 'tool.result').find(({ isError }) => isError);
    return {
      sessions: [session.id, ...result.subagents.map(({ ref }) => ref)],
      error: failed?.content ?? result.error,
    };
  };

const commandLine =
  (args: (name: string, given: string) => string[], input?: (name: string, given: string) => string): Way =>
  async (name, given) => {
    const options = input ? { input: input(name, given) } : {};
    const { code, stdout, stderr } = await place.run(args(name, given), options);
    const result = JSON.parse(stdout || '{}') as {
      session?: string;
      subagents?: { ref: string }[];
      error?: string | null;
    };
    const sessions = result.session ? [result.session, ...(result.subagents ?? []).map(({ ref }) => ref)] : [];
    return { sessions, error: code === 0 ? undefined : `${stderr} ${result.error ?? ''}` };
  };

const json = ['--output', 'json'];
const WAYS: Record<string, Way> = {
  'a call of run_skill': inProcess((name, given) => ({ call: { name, arguments: given } })),
  'session.runSkill': inProcess(() => ({})),
  'run "/name …"': commandLine((name, given) => ['run', ...json, `/${name} ${given}`]),
  'run -': commandLine(
    () => ['run', ...json, '-'],
    (name, given) => `/${name} ${given}\n`,
  ),
  'run --skill': commandLine((name, given) => ['run', ...json, '--skill', name, '--', given]),
  'skill run': commandLine((name, given) => ['skill', 'run', ...json, name, '--', given]),
};

const byEveryWay = (name: string, given: string) =>
  Promise.all(Object.entries(WAYS).map(async ([way, run]) => ({ way, ...(await run(name, given)) })));

describe('arguments are the same on every way to run a skill', { timeout: 120_000 }, () => {
  // The first text shows on every way that nothing of it is touched; the others, how it is read, a skill each.
  test.each([
    [
      'free text',
      ['notes', 'child'],
      'a "b" $& $1 {{arguments}} <<tag>> \\<<arguments>>\n  ünïcode\r\n\nlast',
      'For  since : a "b" $& $1 {{arguments}} <<tag>> \\<<arguments>>\n  ünïcode\r\n\nlast (a "b" $&',
    ],
    [
      'words',
      ['notes'],
      'tag=v1.2 audience="all users"',
      'For all users since v1.2: tag=v1.2 audience="all users" (tag=',
    ],
    ['JSON', ['child'], '{"tag":"v1","audience":"x\\ny"}', 'For x\ny since v1: {"tag":"v1",'],
  ])('%s', async (_, names, given, beginning) => {
    for (const name of names) {
      const ran = await byEveryWay(name, given);
      expect(ran.filter(({ error }) => error !== undefined)).toEqual([]);
      const seen = await Promise.all(ran.map(async ({ way, sessions }) => ({ way, text: await rendered(sessions) })));
      const text = seen[0]?.text ?? '';
      expect(text).toContain(beginning);
      expect(text).toContain('Shown: <<arguments>>\n');
      expect(seen).toEqual(ran.map(({ way }) => ({ way, text })));
    }
  });

  test('an object of a model is its JSON', async () => {
    const { sessions } = await inProcess((name) => ({ call: { name, arguments: { tag: 'v1', audience: 'all' } } }))(
      'notes',
      '',
    );
    expect(await rendered(sessions)).toContain('For all since v1: {"tag":"v1","audience":"all"}');
  });

  test('too many bytes are refused everywhere, and say what to do', async () => {
    const given = 'ü'.repeat(32 * 1024 + 1);
    for (const name of ['notes', 'child']) {
      for (const { way, error } of await byEveryWay(name, given)) {
        expect(error, `${name} by ${way}`).toContain('the arguments have 65538 bytes; at most 65536 fit');
      }
    }
    const tool = await WAYS['a call of run_skill']!('notes', given);
    expect(tool.error).toContain('Write the text to a file and pass its path.');
    expect((await WAYS['skill run']!('notes', given)).error).toContain('hint: Write the text to a file');
  });

  test('a sub-agent without a task says what it takes', async () => {
    for (const { way, error } of await byEveryWay('child', '')) {
      expect(error, way).toMatch(/runs as a sub-agent and needs a task\..*It takes: tag=v1 audience=users/);
    }
    place.skill('plain', 'description: Plain.\nrunAs: subagent');
    expect((await WAYS['skill run']!('plain', '')).error).not.toContain('It takes');
    place.skill('names', 'description: Names.\nrunAs: subagent\narguments: [from, to]');
    expect((await WAYS['skill run']!('names', '')).error).toContain('It takes: from to');
  });

  test('skill show says what a skill takes', async () => {
    expect((await place.run(['skill', 'show', 'notes'])).stdout).toMatch(/^arguments +tag=v1 audience=users$/m);
    expect(await place.json(['skill', 'show', 'notes', '--json'])).toMatchObject({
      argument_hint: 'tag=v1 audience=users',
      arguments: ['tag', 'audience'],
    });
  });
});
