import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { workshop } from '../runtime/workshop.ts';

const bin = fileURLToPath(new URL('../../bin/reasonix.js', import.meta.url));

it.each([
  ['the time limit of the run', ['--timeout', '1s'], undefined, 3, 'limit'],
  ['a signal', [], 'SIGTERM', 130, 'cancelled'],
] as const)('a run that waits for something silent lasts until %s', async (_, flags, signal, code, status) => {
  const shop = workshop();
  shop.write('script.yaml', 'rules:\n  - when: { tool_choice: none }\n    text: so far\n  - faults: { hang: true }\n');
  shop.write('reasonix.toml', '[[providers]]\nname = "s"\nkind = "scripted"\nscript = "script.yaml"\nmodels = []\n');
  const child = spawn(process.execPath, [bin, 'run', 'go', '--output', 'json', ...flags], {
    cwd: shop.cwd,
    env: { PATH: process.env.PATH, HOME: shop.home },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk));
  const ended = once(child, 'close');
  const stop = signal && setTimeout(() => child.kill(signal), 1_500);
  const [exit] = (await ended) as [number | null];
  clearTimeout(stop);
  expect(JSON.parse(output)).toMatchObject({ status });
  expect(exit).toBe(code);
});
