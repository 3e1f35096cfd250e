/**
 * Kills the scenario of test/faults again and again, at random points of random orders, and checks after
 * each that nothing was lost or doubled: `npm run faults -- --runs 5000 [--seed 7]`. What goes wrong is
 * named with its seed, and the exit code is 1.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { runs, seed } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
}).values;
for (const [name, value] of Object.entries({ runs, seed })) {
  if (/^\d+$/.test(value)) continue;
  console.error(`--${name} must be a whole number, but it is "${value}"`);
  process.exit(2);
}

const env = {
  ...process.env,
  FAULTS_RUNS: runs,
  FAULTS_SEED: seed,
  // Real processes take long: one of so many runs.
  FAULTS_KILLS: String(Math.ceil(Number(runs) / 20)),
  FAULTS_CANCELS: '100',
  FAULTS_TREES: '30',
};
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', 'test/faults', 'test/engines/chaos', '--disable-console-intercept'],
  {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env,
    stdio: 'inherit',
  },
);
process.exit(status ?? 1);
