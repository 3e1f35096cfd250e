import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { workshop } from '../runtime/workshop.ts';

const bin = fileURLToPath(new URL('../../bin/reasonix.js', import.meta.url));

/** Killed when it does not end: a loop in native code hears no other signal. */
function sessions(home: string): { code: number | null; stderr: string } {
  const shop = workshop();
  const { status, stderr } = spawnSync(process.execPath, [bin, 'session', 'list'], {
    cwd: shop.cwd,
    env: { PATH: process.env.PATH, HOME: shop.home, REASONIX_HOME: home },
    encoding: 'utf8',
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  return { code: status, stderr };
}

it.runIf(process.platform === 'linux')('a home where no folder can be made is named, and ends the command', () => {
  const { code, stderr } = sessions('/proc/none');
  expect(stderr).toContain('/proc/none/sessions.db cannot be opened for writing');
  expect(stderr).toContain('REASONIX_HOME');
  expect(code).toBe(1);
});

it('a home below a file is named', () => {
  const shop = workshop();
  writeFileSync(join(shop.cwd, 'file'), '');
  const { code, stderr } = sessions(join(shop.cwd, 'file', 'below'));
  expect(stderr).toContain('REASONIX_HOME');
  expect(code).toBe(1);
});
