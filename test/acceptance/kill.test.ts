import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { StoredEvent } from '../../src/core/events.ts';
import { Thread } from '../../src/session/thread.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { type Workshop, workshop } from '../runtime/workshop.ts';

const bin = fileURLToPath(new URL('../../bin/reasonix.js', import.meta.url));

/** Kills at random moments; more with KILLS=500. */
const KILLS = Number(process.env.KILLS ?? 24);

/** Two children that read, three writes: one new file, one append that shows when it runs twice, one new file. */
const SCRIPT = `rules:
  - when: { kind: child, turn_step: 1 }
    latency: 20
    calls:
      - name: read_file
        arguments: { path: "{{user}}" }
  - when: { kind: child }
    latency: 20
    text: "the number is {{last_result | number}}"
  - when: { kind: root, turn_step: 1 }
    latency: 20
    calls:
      - name: write_file
        arguments: { path: one.txt, content: one }
      - name: run_skill
        arguments: { name: reader, arguments: a.txt }
      - name: run_skill
        arguments: { name: reader, arguments: b.txt }
  - when: { kind: root, turn_step: 2 }
    latency: 20
    calls:
      - name: shell
        arguments: { command: "echo two >> two.txt" }
  - when: { kind: root, turn_step: 3 }
    latency: 20
    calls:
      - name: write_file
        arguments: { path: three.txt, content: three }
  - when: { kind: root }
    latency: 20
    text: "sum {{tool.run_skill | answer | sum}}"
`;

function project(): Workshop {
  const shop = workshop();
  shop.write('a.txt', '40\n');
  shop.write('b.txt', '2\n');
  shop.write('script.yaml', SCRIPT);
  shop.write(
    'reasonix.toml',
    '[[providers]]\nname = "scripted"\nkind = "scripted"\nscript = "script.yaml"\nmodels = []\n',
  );
  shop.skill('reader', { runAs: 'subagent' }, 'Read the file.');
  return shop;
}

interface Place {
  cwd: string;
  home: string;
}

function reasonix(
  { cwd, home }: Place,
  args: string[],
): { child: ChildProcess; output: () => string; ended: Promise<number | null> } {
  let output = '';
  const env = { PATH: process.env.PATH, HOME: home };
  const child = spawn(process.execPath, [bin, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk));
  return { child, output: () => output, ended: once(child, 'close').then(([code]) => code as number | null) };
}

function linesIn(output: string): number {
  return output.split('\n').length - 1;
}

/** A kill comes at most so many milliseconds after the event it waits for: as long as a call of the model. */
const MOST_AFTER = 20;

const RUN = ['run', 'go', '--yes', '--output', 'stream-json'];

it(`finishes after kill -9 at ${KILLS} random moments: right answer, no write and no child twice`, {
  timeout: 600_000,
}, async () => {
  const shop = project();
  const whole = reasonix(placeOf(shop, 0), RUN);
  expect(await whole.ended, whole.output()).toBe(0);
  const lines = linesIn(whole.output());

  let resumed = 0;
  const one = async (index: number) => {
    const place = placeOf(shop, index);
    const run = reasonix(place, RUN);
    // Events as the clock: how fast a run is, differs too much for times measured in another.
    const last = Math.ceil((lines * index) / KILLS) - 1;
    await new Promise<void>((resolve) => {
      run.child.stdout?.on('data', () => linesIn(run.output()) >= last && resolve());
      void run.ended.then(() => resolve());
    });
    await Promise.race([delay(MOST_AFTER * Math.random()), run.ended]);
    run.child.kill('SIGKILL');
    await run.ended;
    const started = run.output().split('\n')[0] ?? '';
    if (!started.includes('session.started')) return;
    const { session } = JSON.parse(started) as { session: string };
    const events = await logOf(place, session);
    if (!Thread.fold(session, events).turn) return;
    resumed++;
    const again = reasonix(place, ['run', '--resume', session, '--yes', '--output', 'json']);
    expect(await again.ended, again.output()).toBe(0);
    await check(place, session);
  };
  const queue = Array.from({ length: KILLS }, (_, index) => index + 1);
  await Promise.all(
    [0, 1].map(async () => {
      for (let index = queue.shift(); index !== undefined; index = queue.shift()) await one(index);
    }),
  );
  // Most kills must have hit an open turn, or the test shows nothing.
  expect(resumed).toBeGreaterThan(KILLS / 2);
});

/** A working folder and a home of its own for each run, with the project's files linked in by copy. */
function placeOf(shop: Workshop, index: number): Place {
  const home = join(shop.home, String(index));
  mkdirSync(home);
  const cwd = join(shop.cwd, `run-${index}`);
  for (const file of ['a.txt', 'b.txt', 'script.yaml', 'reasonix.toml', '.reasonix/skills/reader/SKILL.md']) {
    shop.write(join(`run-${index}`, file), readFileSync(join(shop.cwd, file), 'utf8'));
  }
  return { cwd, home };
}

async function logOf({ home }: Place, session: string): Promise<StoredEvent[]> {
  const store = await openSqliteStore({ home: join(home, '.reasonix') });
  try {
    return await store.read(session);
  } finally {
    await store.close();
  }
}

async function check(place: Place, session: string): Promise<void> {
  const store = await openSqliteStore({ home: join(place.home, '.reasonix') });
  try {
    const events = await store.read(session);
    const ended = events.filter((event) => event.type === 'turn.ended');
    expect(ended).toMatchObject([{ status: 'completed', answer: 'sum 42' }]);
    const results = events.flatMap((event) => (event.type === 'tool.result' ? [event] : []));
    expect(results).toHaveLength(5);
    expect(new Set(results.map(({ call }) => call)).size).toBe(5);
    const starts = events.flatMap((event) =>
      event.type === 'tool.started' && event.effects === 'write' ? [event.call] : [],
    );
    expect(new Set(starts).size).toBe(starts.length);
    const { sessions } = await store.list({ parent: { session } });
    expect(sessions).toHaveLength(2);
    for (const child of sessions) {
      const log = await store.read(child.session);
      expect(log.filter((event) => event.type === 'user.message')).toHaveLength(1);
      expect(log.filter((event) => event.type === 'turn.ended')).toHaveLength(1);
    }
    expect(events.filter((event) => event.type === 'usage')).toHaveLength(2);
    // A write is there once, or it was cut and the log says that nobody knows.
    const two = existsSync(join(place.cwd, 'two.txt')) ? readFileSync(join(place.cwd, 'two.txt'), 'utf8') : '';
    const cut = results.some(({ name, content }) => name === 'shell' && content.startsWith('interrupted'));
    expect(two === 'two\n' || (two === '' && cut)).toBe(true);
  } finally {
    await store.close();
  }
}
