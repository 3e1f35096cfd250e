import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventOf, StoredEvent } from '../../src/core/events.ts';
import { packageRoot } from '../../src/core/prompts.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { built } from '../cli/workplace.ts';
import { type Ended, Place } from './run-example.ts';

const MAIN = join(packageRoot, 'examples', 'research', 'main.js');

/** A copy of the example, run with the example's own program. */
class Copy {
  readonly place = new Place();
  readonly folder = join(this.place.path, 'copy');

  constructor() {
    cpSync(join(packageRoot, 'examples', 'research'), this.folder, {
      recursive: true,
      filter: (path) => !path.startsWith(join(packageRoot, 'examples', 'research', 'out')),
    });
  }

  run(env: Record<string, string> = {}): Promise<Ended> {
    return this.place.node([MAIN, this.folder], env);
  }

  file(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  change(path: string, change: (text: string) => string): void {
    const before = this.file(path);
    const after = change(before);
    expect(after).not.toBe(before);
    writeFileSync(join(this.folder, path), after);
  }

  report(): string {
    return this.file('out/report.md');
  }

  /** The logs of all sessions, by session. */
  async logs(): Promise<Map<string, StoredEvent[]>> {
    const store = await openSqliteStore({ home: join(this.folder, 'out', 'home') });
    try {
      const { sessions } = await store.list({}, { limit: 100 });
      return new Map(
        await Promise.all(sessions.map(async ({ session }) => [session, await store.read(session)] as const)),
      );
    } finally {
      await store.close();
    }
  }
}

const copies: Copy[] = [];
const copy = (): Copy => {
  const made = new Copy();
  copies.push(made);
  return made;
};

beforeAll(built);
afterAll(() => {
  for (const { place } of copies) place.remove();
});

const of = <T extends StoredEvent['type']>(
  events: readonly StoredEvent[],
  type: T,
): (EventOf<T> & { seq: number; at: string })[] =>
  events.filter((event): event is Extract<StoredEvent, { type: T }> => event.type === type);

describe('examples/research', () => {
  const example = copy();
  let ended: Ended;
  let logs: Map<string, StoredEvent[]>;
  let root: StoredEvent[];
  let children: Map<string, StoredEvent[]>;

  beforeAll(async () => {
    ended = await example.run();
    logs = await example.logs();
    root = [...logs.entries()].find(([session]) => session.startsWith('s_'))?.[1] ?? [];
    children = new Map([...logs].filter(([session]) => session.startsWith('sa_')));
  });

  it('ends well and says nothing on stderr', () => {
    expect(ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('starts three research children in one step, which work at the same time', () => {
    const [first] = of(root, 'assistant.message');
    expect(first?.toolCalls.map(({ name }) => name)).toEqual(['run_skill', 'run_skill', 'run_skill']);
    const research = [...children.values()].filter(
      (events) => of(events, 'session.started')[0]?.skill?.name === 'research',
    );
    expect(research).toHaveLength(3);
    const started = research.map((events) => events[0]?.at ?? '');
    const firstEnds = research.map((events) => of(events, 'turn.ended')[0]?.at ?? '');
    expect(started.every((at) => firstEnds.every((end) => at < end))).toBe(true);
    for (const events of research) {
      expect(of(events, 'tool.result').map(({ name }) => name)).toEqual(expect.arrayContaining(['grep', 'read_file']));
      expect(of(events, 'tool.result').filter(({ isError }) => isError)).toEqual([]);
    }
  });

  it('continues one of them by its reference', () => {
    const continued = [...children.values()].filter((events) => of(events, 'turn.ended').length === 2);
    expect(continued).toHaveLength(1);
    expect(of(continued[0] ?? [], 'user.message').map(({ origin }) => origin)).toEqual(['task', 'continuation']);
  });

  it('hands all three answers to synthesize', () => {
    const events = [...children.values()].find((each) => of(each, 'session.started')[0]?.skill?.name === 'synthesize');
    const task = of(events ?? [], 'user.message')[0]?.content ?? '';
    const research = [...children.keys()].filter((session) => !task.includes(session));
    expect(task.match(/<input from="sa_\w+" skill="research" status="completed">/g)).toHaveLength(3);
    expect(research).toHaveLength(1);
  });

  it('is nudged for the required skill, loads it, then writes the report', () => {
    expect(of(root, 'required.nudged')).toMatchObject([{ names: ['report-style'], count: 1 }]);
    const nudged = of(root, 'required.nudged')[0]?.seq ?? 0;
    const loaded = of(root, 'skill.loaded').find(({ name }) => name === 'report-style');
    const written = of(root, 'tool.result').find(({ name }) => name === 'write_file');
    expect(loaded).toMatchObject({ via: 'run_skill' });
    expect(nudged).toBeLessThan(loaded?.seq ?? 0);
    expect(loaded?.seq).toBeLessThan(written?.seq ?? 0);
    expect(written).toMatchObject({ isError: false });
  });

  it('reports what the files say, counted here once more', () => {
    const report = example.report();
    const failures = example.file('files/logs/gateway.txt').match(/^.*status=503.*$/gm) ?? [];
    const orders = new Set(failures.map((line) => /order=(\w+)/.exec(line)?.[1]));
    const rows = example
      .file('files/data/orders.csv')
      .trim()
      .split('\n')
      .slice(1)
      .map((row) => row.split(','));
    const sum = (column: number) => rows.reduce((total, row) => total + Number(row[column]), 0);
    const peak = Math.max(
      ...example
        .file('files/data/latency.csv')
        .trim()
        .split('\n')
        .slice(1)
        .map((row) => Number(row.split(',')[2])),
    );
    const line =
      example
        .file('files/logs/gateway.txt')
        .split('\n')
        .findIndex((each) => each.includes('status=503')) + 1;

    expect(report).toContain(`${failures.length} answers of POST /checkout were a 503, for ${orders.size} orders`);
    expect(report).toContain(`(files/logs/gateway.txt:${line})`);
    expect(report).toContain(`${sum(2)} of ${sum(1) + sum(2)} orders were lost, worth EUR ${sum(3).toFixed(2)}`);
    expect(report).toContain(`The p95 rose to ${peak} ms, ${(peak / 800).toFixed(1)} times the target of 800 ms`);
    expect(report).toContain('pool.size went from 16 to 4 (files/config/changes.txt:3)');
    expect(report).toMatch(/yes\. Given up according to the logs: 8; failed according to the data: 8\./);
  });

  it('prints the tree as lines, the references, the tokens and where the session is', () => {
    const { stdout } = ended;
    for (const session of logs.keys()) expect(stdout).toContain(session);
    expect(stdout).toMatch(/^ {2}sa_\w+ {2}research {2}step 1: grep, grep/m);
    expect(stdout).toContain('report-style loaded after 1 nudge');
    const own = Number(/^Tokens +([\d,]+) own/m.exec(stdout)?.[1]?.replaceAll(',', ''));
    const total = Number(/own, ([\d,]+) with/.exec(stdout)?.[1]?.replaceAll(',', ''));
    const parts = [...stdout.matchAll(/^ {2}sa_\w+ .*completed, \d+ steps, ([\d,]+) tokens$/gm)];
    expect(parts).toHaveLength(4);
    expect(own + parts.reduce((sum, [, part]) => sum + Number(part?.replaceAll(',', '')), 0)).toBe(total);
    expect(stdout).not.toContain('\x1b');
  });

  it('prints commands that work as they are printed', async () => {
    const commands = [...ended.stdout.matchAll(/^ {2}(\S+=\S+) npx reasonix (.*)$/gm)];
    expect(commands).toHaveLength(3);
    const [show, go] = await Promise.all(
      commands
        .slice(0, 2)
        .map(([, env, args]) => example.place.shell(`${env} '${process.execPath}' bin/reasonix.js ${args}`)),
    );
    expect(show).toMatchObject({ code: 0 });
    expect(show?.stdout).toContain('Three things can be looked into side by side.');
    expect(go).toMatchObject({ code: 0 });
    expect(go?.stdout).toMatch(/^10 lines in files\/ have it/);
  });

  it('goes on from any folder, with paths that start there', async () => {
    const [child] = children.keys();
    const node = `'${process.execPath}' '${join(packageRoot, 'bin', 'reasonix.js')}'`;
    const run = `${node} run --config copy/scripted.toml --resume ${child} 'Where is "pool exhausted"?'`;
    const gone = await example.place.shell(`cd '${example.place.path}' && REASONIX_HOME=copy/out/home ${run}`);
    expect(gone.stdout).toMatch(/^65 lines in files\/ have it/);
    expect(existsSync(join(example.folder, 'copy'))).toBe(false);
  });

  it('keeps everything in out/', () => {
    expect(existsSync(join(example.place.path, '.reasonix'))).toBe(false);
    expect(existsSync(join(example.folder, 'out', 'home', 'sessions.db'))).toBe(true);
  });
});

it('reports other figures for other files, and says where the sources no longer agree', async () => {
  const example = copy();
  example.change(
    'files/logs/gateway.txt',
    (text) => `${text}12:29:59.999 gateway  POST /checkout status=503 ms=2003 order=o9999 attempt=1\n`,
  );
  example.change('files/data/orders.csv', (text) => text.replace('12:03,2,1,76.72', '12:03,2,3,1076.72'));
  example.change('files/data/latency.csv', (text) => text.replace(/^12:05,\d+,\d+$/m, '12:05,4000,16000'));
  example.change('files/config/changes.txt', (text) => text.replace('pool.size 16 -> 4', 'pool.size 32 -> 5'));
  example.change('files/config/gateway.yaml', (text) => text.replace('retries: 3', 'retries: 7'));
  expect(await example.run({ NO_COLOR: '1' })).toMatchObject({ code: 0, stderr: '' });

  const report = example.report();
  expect(report).toContain('65 answers of POST /checkout were a 503, for 30 orders, from 12:03 to 12:29');
  expect(report).toContain('10 of 73 orders were lost, worth EUR 1744.15');
  expect(report).toContain('The p95 rose to 16000 ms, 20 times');
  expect(report).toContain('a database pool of 5 connections');
  expect(report).toContain('pool.size went from 32 to 5');
  expect(report).toContain('one order waits up to 16 s');
  expect(report).toContain(
    'no, one of them is wrong. Given up according to the logs: 8; failed according to the data: 10.',
  );
});

it('has no figure of the report in its script', async () => {
  const script = readFileSync(join(packageRoot, 'examples', 'research', 'script.yaml'), 'utf8');
  const example = copy();
  await example.run();
  const words = /\b(?:sa?_\w+|\d{4}-\d\d-\d\d|503|p95)\b/g;
  const figures = new Set(
    example
      .report()
      .replace(words, '')
      .match(/\d[\d.:]*\d/g),
  );
  expect(figures.size).toBeGreaterThan(8);
  const literal = script.replace(/\{\{.*?\}\}/g, '').replace(/^ *(latency|chunks):.*$/gm, '');
  expect([...figures].filter((figure) => literal.includes(figure) && figure !== '12')).toEqual([]);
});

it('takes less than three seconds, on a machine that is not busy with something else', { retry: 4 }, async () => {
  const example = copy();
  const start = performance.now();
  await example.run();
  const elapsed = performance.now() - start;
  expect(elapsed).toBeLessThan(3_000 * Math.max(1, loadavg()[0]! / availableParallelism()));
});
