import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../src/core/events.ts';
import { packageRoot } from '../../src/core/prompts.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { call, type Workshop, workshop } from './workshop.ts';

const SECRET = 'what the reference says';

/** Writes a file outside of the project, below the home folder. */
function atHome(shop: Workshop, path: string, text: string): string {
  const file = join(shop.home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const skillText = (header = ''): string => `---\ndescription: Knows things.\n${header}---\nRead references/facts.md.\n`;

/** A skill with a reference and a script in `folder`; returns the folder. */
function knowing(shop: Workshop, folder: string, header = ''): string {
  const file = atHome(shop, join(folder, 'SKILL.md'), skillText(header));
  atHome(shop, join(folder, 'references/facts.md'), SECRET);
  chmodSync(
    atHome(shop, join(folder, 'scripts/count.sh'), '#!/bin/sh\necho "counted $# in $(pwd) from $(dirname "$0")"\n'),
    0o755,
  );
  return dirname(file);
}

const baseFolder = (text: string): string | undefined => /^Base folder: (.+?)(?: · |$)/m.exec(text)?.[1];

type Result = Extract<StoredEvent, { type: 'tool.result' }>;

/** Answers each result with the next calls; then the answer. */
const inTurn = (steps: ((request: ModelRequest) => ReturnType<typeof call>)[]) => (request: ModelRequest) => {
  const next = steps[request.messages.filter(({ role }) => role === 'tool').length];
  return next ? { calls: [next(request)] } : 'done';
};

const lastResult = ({ messages }: ModelRequest): string => {
  const last = messages.at(-1);
  return last?.role === 'tool' ? last.content : '';
};

async function results(
  shop: Workshop,
  script: Parameters<Workshop['open']>[0],
  options: RuntimeOptions = {},
): Promise<Result[]> {
  const { runtime } = await shop.open(script, options);
  const session = await runtime.session();
  await session.send('go').result;
  return (await runtime.store.read(session.id)).filter((event) => event.type === 'tool.result');
}

const load = () => call('run_skill', { name: 'knows' });
const readFacts = (request: ModelRequest) =>
  call('read_file', { path: `${baseFolder(lastResult(request))}/references/facts.md` });

describe('files of a skill', () => {
  it('are named by an inline result with their folder, and not read into it', async () => {
    const shop = workshop();
    const folder = knowing(shop, '.reasonix/skills/knows');
    const [loaded] = await results(shop, inTurn([load]));
    expect(loaded!.content).toContain(
      `\nBase folder: ${folder} · files, to be read with read_file when needed: references/facts.md, scripts/count.sh\n`,
    );
    expect(loaded!.content).not.toContain(SECRET);
  });

  it('are named in a child’s system prompt, and the child reads them', async () => {
    const shop = workshop();
    const folder = knowing(shop, '.reasonix/skills/knows', 'runAs: subagent\nallowed-tools: read_file\n');
    const { runtime, model } = await shop.open((request) => {
      if (!request.skill) return 'unused';
      if (request.messages.length > 1) return lastResult(request);
      return { calls: [call('read_file', { path: `${baseFolder(request.system)}/references/facts.md` })] };
    });
    const { answer } = await runtime.skill('knows').run('tell');
    expect(answer).toBe(SECRET);
    expect(model.requests[0]!.system).toContain(`Base folder: ${folder} · `);
    expect(model.requests[0]!.system).not.toContain(SECRET);
  });

  it('are counted where there are too many to name', async () => {
    const shop = workshop();
    knowing(shop, '.reasonix/skills/knows');
    for (let number = 0; number < 60; number++) atHome(shop, `.reasonix/skills/knows/assets/${number}.txt`, '');
    const [loaded] = await results(shop, inTurn([load]));
    const line = loaded!.content.split('\n').find((each) => each.startsWith('Base folder: ')) ?? '';
    expect(line).toMatch(/ \(\+22\)$/);
    expect(line.split(', ')).toHaveLength(40 + 1);
  });

  it.each([
    ['of the user', '.reasonix/skills/knows', []],
    ['of another product', '.claude/skills/knows', []],
    ['of a configured path', 'elsewhere/library/knows', ['skills.paths=~/elsewhere/library']],
  ])('can be read %s', async (_, folder, overrides) => {
    const shop = workshop();
    knowing(shop, folder);
    expect(await results(shop, inTurn([load, readFacts]), { overrides })).toMatchObject([
      {},
      { content: SECRET, isError: false },
    ]);
  });

  it('can be read where a link in a root leads elsewhere', async () => {
    const shop = workshop();
    const real = knowing(shop, 'dotfiles/knows');
    mkdirSync(join(shop.home, '.reasonix/skills'), { recursive: true });
    symlinkSync(real, join(shop.home, '.reasonix/skills/knows'));
    const read = (request: ModelRequest) =>
      call('read_file', {
        path:
          request.messages.length > 4
            ? join(real, 'references/facts.md')
            : `${baseFolder(lastResult(request))}/references/facts.md`,
      });
    const [, first, second] = await results(shop, inTurn([load, read, read]));
    expect([first, second]).toMatchObject([{ content: SECRET }, { content: SECRET }]);
  });

  it('of built-ins can be read', async () => {
    const shop = workshop();
    const path = join(packageRoot, 'skills/create-skill/SKILL.md');
    expect(await results(shop, inTurn([() => call('read_file', { path })]))).toMatchObject([
      { content: expect.stringContaining('# Create a skill'), isError: false },
    ]);
  });

  it('do not open what lies beside them', async () => {
    const shop = workshop();
    knowing(shop, '.reasonix/skills/knows');
    const path = atHome(shop, '.reasonix/other.txt', 'private');
    symlinkSync(path, join(shop.home, '.reasonix/skills/knows/references/link.md'));
    const inside = join(shop.home, '.reasonix/skills/knows/references/link.md');
    const found = await results(
      shop,
      inTurn([load, () => call('read_file', { path }), () => call('read_file', { path: inside })]),
    );
    for (const { content, isError } of found.slice(1)) {
      expect(isError).toBe(true);
      expect(content).toContain('outside of what may be read');
    }
  });

  it('can be read in the same turn in which the skill was installed, the first in its root', async () => {
    const shop = workshop();
    const input = { name: 'fresh', description: 'New.', body: 'Be new.', scope: 'user', run_as: 'inline' };
    const path = (request: ModelRequest) => (JSON.parse(lastResult(request)) as { path: string }).path;
    const found = await results(
      shop,
      inTurn([() => call('install_skill', input), (request) => call('read_file', { path: path(request) })]),
      { yes: true },
    );
    expect(found).toMatchObject([{ isError: false }, { content: expect.stringContaining('Be new.'), isError: false }]);
  });

  it('can be read when they come between two turns', async () => {
    const shop = workshop();
    const { runtime } = await shop.open((request) =>
      lastResult(request)
        ? lastResult(request)
        : { calls: [call('read_file', { path: join(shop.home, '.agents/skills/late/references/facts.md') })] },
    );
    const session = await runtime.session();
    expect((await session.send('one').result).answer).toContain('outside of what may be read');
    const folder = knowing(shop, 'made/late');
    cpSync(folder, join(shop.home, '.agents/skills/late'), { recursive: true });
    expect((await session.send('two').result).answer).toBe(SECRET);
  });

  it('can be read by a session and a child that go on in another process', async () => {
    const shop = workshop();
    const folder = knowing(shop, '.reasonix/skills/knows', 'runAs: subagent\n');
    const path = join(folder, 'references/facts.md');
    const store = memoryStore();
    const script = (request: ModelRequest) => {
      const last = request.messages.at(-1)!;
      if (last.role === 'tool') return last.content;
      const content = last.role === 'user' ? last.content : '';
      return content.includes('read') ? { calls: [call('read_file', { path })] } : 'noted';
    };
    const first = await shop.open(script, { store });
    const session = await first.runtime.session();
    await session.send('hello').result;
    const child = await first.runtime.skill('knows').run('hello');
    await first.runtime.close();

    const second = await shop.open(script, { store });
    const resumed = await second.runtime.session({ resume: session.id });
    expect((await resumed.send('read').result).answer).toBe(SECRET);
    const again = await second.runtime.session({ resume: child.ref });
    expect((await again.send('read').result).answer).toBe(SECRET);
  });

  it('can be read by a call that a crash has cut, before the library was opened again', async () => {
    const shop = workshop();
    const folder = knowing(shop, '.reasonix/skills/knows');
    const store = memoryStore();
    const path = join(folder, 'references/facts.md');
    const first = await shop.open(
      (request) => (request.messages.length > 1 ? 'never' : { calls: [call('read_file', { path })] }),
      { store },
    );
    const session = await first.runtime.session();
    const events = await store.read(session.id);
    await first.runtime.close();
    // The log as a killed process leaves it: the call is there, its result is not.
    await store.append(session.id, events.at(-1)!.seq, [
      { type: 'user.message', origin: 'user', content: 'go' },
      {
        type: 'assistant.message',
        text: '',
        toolCalls: [{ id: 'c1', name: 'read_file', arguments: JSON.stringify({ path }) }],
        usage: { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 },
        model: 'default',
        finishReason: 'tool_calls',
      },
    ]);
    const second = await shop.open((request) => lastResult(request), { store });
    const resumed = await second.runtime.session({ resume: session.id });
    expect((await resumed.resume().result).answer).toBe(SECRET);
  });
});

describe.skipIf(process.platform === 'win32')('scripts of a skill', () => {
  const runScript = (request: ModelRequest) =>
    call('shell', { command: `${baseFolder(lastResult(request))}/scripts/count.sh a b` });

  it('run from the folder of the skill without being copied, in the working folder', async () => {
    const shop = workshop();
    const folder = knowing(shop, '.reasonix/skills/knows');
    const found = await results(shop, inTurn([load, runScript]), { allow: [`shell(${folder}/scripts/count.sh *)`] });
    expect(found[1]).toMatchObject({
      isError: false,
      content: `counted 2 in ${shop.cwd} from ${folder}/scripts\n[exit code 0]`,
    });
  });

  it('need permission like every command', async () => {
    const shop = workshop();
    knowing(shop, '.reasonix/skills/knows', 'allowed-tools: shell\n');
    const found = await results(shop, inTurn([load, runScript]));
    expect(found[1]).toMatchObject({ isError: true, content: expect.stringContaining('approval') });
  });
});
