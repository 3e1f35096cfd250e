import { appendFileSync, chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readUsage, recordUse } from '../../src/skills/usage.ts';
import { SkillFolder } from './folder.ts';

const entries = (file: string) => readFileSync(file, 'utf8').trimEnd().split('\n');

describe('the usage ledger', () => {
  it('has one line a skill and session, in a private file', async () => {
    using folder = new SkillFolder();
    const home = join(folder.home, 'new', '.reasonix');
    await recordUse(home, 'a', 's_1');
    await recordUse(home, 'a', 's_1');
    await recordUse(home, 'a', 's_2');
    await recordUse(home, 'b', 's_2');
    const file = join(home, 'usage.jsonl');
    expect(entries(file).map((line) => JSON.parse(line))).toMatchObject([
      { skill: 'a', session: 's_1' },
      { skill: 'a', session: 's_2' },
      { skill: 'b', session: 's_2' },
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(await readUsage(home)).toEqual(
      new Map([
        ['a', 2],
        ['b', 1],
      ]),
    );
  });

  it('counts a line that another process wrote as well once', async () => {
    using folder = new SkillFolder();
    await recordUse(folder.home, 'a', 's_1');
    const file = join(folder.home, 'usage.jsonl');
    appendFileSync(file, readFileSync(file));
    expect(await readUsage(folder.home)).toEqual(new Map([['a', 1]]));
  });

  it('passes torn and foreign lines over, and does not lose the next one to them', async () => {
    using folder = new SkillFolder();
    const file = folder.write('home/usage.jsonl', 'rubbish\n{"skill":1,"session":"s"}\n[]\nnull\n{"at":"2026","ses');
    await recordUse(folder.home, 'a', 's_1');
    expect(entries(file)).toHaveLength(6);
    expect(await readUsage(folder.home)).toEqual(new Map([['a', 1]]));
  });

  it('keeps every line of many writers', async () => {
    using folder = new SkillFolder();
    await Promise.all(
      Array.from({ length: 200 }, (_, index) => recordUse(folder.home, `k${index % 10}`, `s_${index}`)),
    );
    const counts = await readUsage(folder.home);
    expect([...counts.values()]).toEqual(new Array(10).fill(20));
  });

  it('never fails the work it counts', async () => {
    using folder = new SkillFolder();
    const file = folder.write('home/file', 'no folder');
    chmodSync(file, 0o400);
    await expect(recordUse(join(folder.home, 'file'), 'a', 's_1')).resolves.toBeUndefined();
    expect(await readUsage(join(folder.home, 'file'))).toEqual(new Map());
    expect(await readUsage(join(folder.home, 'missing'))).toEqual(new Map());
  });
});
