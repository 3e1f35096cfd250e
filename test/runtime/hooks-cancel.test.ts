import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, workshop } from './workshop.ts';

const hook = (name: string, on: string, command: string): string =>
  `[[hooks]]\nname = "${name}"\non = ["${on}"]\ncommand = ${JSON.stringify(command)}\n`;

const begun = (file: string) => expect.poll(() => existsSync(file), { timeout: 10_000 }).toBe(true);

test.skipIf(process.platform === 'win32')('a turn that is cancelled ends the hooks before its sub-agents', async () => {
  const shop = workshop();
  const [file, after] = [join(shop.cwd, 'begun'), join(shop.cwd, 'after')];
  shop.write('reasonix.toml', hook('slow', 'subagent_start', `touch "${file}"; sleep 8; touch "${after}"`));
  shop.skill('research', { runAs: 'subagent' }, 'You look things up.');
  const { runtime, model } = await shop.open(
    () => ({ calls: [call('run_skill', { name: 'research', arguments: 'go' })] }),
    { trustProject: true },
  );
  const cancel = new AbortController();
  const turn = (await runtime.session()).send('x', { signal: cancel.signal });
  await begun(file);
  const before = performance.now();
  cancel.abort();
  expect((await turn.result).status).toBe('cancelled');
  expect(performance.now() - before).toBeLessThan(5_000);
  expect(existsSync(after)).toBe(false);
  expect(model.requests).toHaveLength(1);
});

test.skipIf(process.platform === 'win32')('a runtime that closes ends the hooks before a session', async () => {
  const shop = workshop();
  const [file, after] = [join(shop.cwd, 'begun'), join(shop.cwd, 'after')];
  shop.write('reasonix.toml', hook('slow', 'session_start', `touch "${file}"; sleep 8; touch "${after}"`));
  const { runtime } = await shop.open(() => 'done', { trustProject: true });
  const session = runtime.session();
  session.catch(() => {});
  await begun(file);
  const before = performance.now();
  await runtime.close();
  await expect(session).rejects.toThrow();
  expect(performance.now() - before).toBeLessThan(5_000);
  expect(existsSync(after)).toBe(false);
});

test('a session that a hook did not let start has no end', async () => {
  const shop = workshop();
  const file = join(shop.cwd, 'ended');
  shop.write(
    'reasonix.toml',
    hook('no', 'session_start', 'exit 2') + hook('end', 'session_end', `echo over > "${file}"`),
  );
  const { runtime } = await shop.open(() => 'done', { trustProject: true });
  await expect(runtime.session()).rejects.toThrow(/does not allow this/);
  await runtime.close();
  expect(existsSync(file)).toBe(false);
});
