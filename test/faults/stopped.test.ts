import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Accounts } from './check.ts';
import { type Life, readLogs } from './lives.ts';
import { type Ending, Trial } from './trial.ts';

let root: string;
let points: number;
let expected: Accounts;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'reasonix-faults-'));
  ({ points, expected } = await Trial.undisturbed(root));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

it.skipIf(process.platform === 'win32').each([0.1, 0.35, 0.6, 0.85])(
  'a process stopped after %d of its way, and woken when another has finished, is refused and changes nothing',
  { timeout: 60_000 },
  async (part) => {
    const trial = await Trial.open(root, Math.round(part * 100));
    const first = await trial.start(Math.ceil(points * part), 'SIGSTOP');
    const { stoppedAt } = JSON.parse(await first.child.line()) as Ending;
    const before = await readLogs(trial.store);
    let second: Life | undefined;
    // Its leases run out by themselves: nobody can see that it does not go on.
    while (!second) second = await trial.live('').catch(() => undefined);
    const finished = await readLogs(trial.store);
    first.child.kill('SIGCONT');
    const { stdout } = await first.child.exited;
    const { ended } = JSON.parse(stdout.split('\n').at(1) ?? '') as Ending;
    expect({ stoppedAt, ended }).toEqual({ stoppedAt, ended: expect.stringMatching(/^(stale_writer|session_busy)$/) });
    expect(await readLogs(trial.store)).toEqual(finished);
    trial.lives.unshift({ before: new Map(), after: before, asked: new Map(), diedAt: stoppedAt, points: 0 });
    expect(await trial.violations(expected)).toEqual([]);
    await trial.store.close();
  },
);
