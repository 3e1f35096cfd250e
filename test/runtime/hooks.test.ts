import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { call, type Workshop, workshop } from './workshop.ts';

/** A hook whose command is a script of node, which gets the moment's JSON as `given`. */
function hook(shop: Workshop, name: string, on: string, script: string, more = ''): string {
  const read = "const given = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));";
  const path = shop.write(`hooks/${name}.cjs`, `${read}\n${script}\n`);
  const command = JSON.stringify(`"${process.execPath}" "${path}"`);
  return `[[hooks]]\nname = "${name}"\non = ["${on.split(' ').join('", "')}"]\ncommand = ${command}\n${more}\n`;
}

const appendTo = (path: string, text: string): string =>
  `require('node:fs').appendFileSync(${JSON.stringify(path)}, ${text} + '\\n');`;

const lines = (path: string): string[] => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []);

const lastResult = (messages: readonly { role: string; content?: string }[]): string =>
  messages.findLast(({ role }) => role === 'tool')?.content ?? '';

test('every moment is told, with what it is about, in order', async () => {
  const shop = workshop();
  const log = join(shop.cwd, 'log.txt');
  const all =
    'session_start session_end before_model before_tool after_tool turn_end subagent_start subagent_end skill_loaded';
  shop.write(
    'reasonix.toml',
    hook(
      shop,
      'all',
      all,
      appendTo(log, "[given.moment, given.skill ?? '', given.tool ?? given.loaded ?? ''].join(' ').trim()"),
    ),
  );
  shop.skill('style', {}, 'Write well.');
  shop.skill('look', { runAs: 'subagent' }, 'Look.');
  const { runtime } = await shop.open(
    ({ skill, messages }) => {
      if (skill === 'look') return { text: 'seen' };
      if (messages.length === 1) return { calls: [call('run_skill', { name: 'style' })] };
      return messages.length === 3
        ? { calls: [call('run_skill', { name: 'look', arguments: 'x' })] }
        : { text: 'done' };
    },
    { trustProject: true },
  );
  await (await runtime.session()).send('go').result;
  await runtime.close();
  const told = lines(log);
  const waited = told.filter((line) => !/^(skill_loaded|subagent_end)/.test(line));
  expect(waited).toEqual([
    'session_start',
    'before_model',
    'before_tool  run_skill',
    'after_tool  run_skill',
    'before_model',
    'before_tool  run_skill',
    'subagent_start look',
    'before_model look',
    'turn_end look',
    'after_tool  run_skill',
    'before_model',
    'turn_end',
    'session_end',
  ]);
  expect(told.filter((line) => !waited.includes(line)).sort()).toEqual([
    'skill_loaded  look',
    'skill_loaded  style',
    'subagent_end look',
  ]);
}, 30_000);

test('a session that a worker runs begins and ends once, where it was started', async () => {
  const shop = workshop();
  const log = join(shop.cwd, 'log.txt');
  const moments = 'session_start session_end before_model turn_end';
  shop.write('reasonix.toml', hook(shop, 'all', moments, appendTo(log, 'given.moment')));
  const shared = { store: memoryStore(), engine: inProcessEngine(), trustProject: true };
  onTestFinished(() => shared.engine.close());
  const submitter = await shop.open(() => 'never', shared);
  const worker = await shop.open(() => 'done', shared);
  const claim = await worker.runtime.work({ concurrency: 1 });
  const session = await submitter.runtime.session();
  expect((await session.send('go').result).answer).toBe('done');
  expect((await session.send('again').result).answer).toBe('done');
  await claim.close(0);
  await worker.runtime.close();
  expect(lines(log)).toEqual(['session_start', 'before_model', 'turn_end', 'before_model', 'turn_end']);
  await submitter.runtime.close();
  expect(lines(log).slice(5)).toEqual(['session_end']);
}, 30_000);

test('exit code 2 before a tool refuses the call with what the hook says; match limits it', async () => {
  const shop = workshop();
  shop.write('a.txt', 'text');
  const script = "if (/secret/.test(given.input.path)) { console.error('not that file'); process.exit(2); }";
  shop.write('reasonix.toml', hook(shop, 'guard', 'before_tool', script, 'match = ["read_*"]'));
  const results: string[] = [];
  const paths = ['secret.txt', 'a.txt'];
  const { runtime } = await shop.open(
    ({ messages }) => {
      if (messages.length > 1) results.push(lastResult(messages));
      const path = paths[results.length];
      return path ? { calls: [call('read_file', { path })] } : { text: 'done' };
    },
    { trustProject: true },
  );
  await (await runtime.session()).send('go').result;
  expect(results).toEqual(['The hook guard does not allow this: not that file', expect.stringContaining('text')]);
});

test.each([
  [
    'prints megabytes',
    "process.exit(require('node:child_process').spawnSync('yes no: | head -c 3000000 >&2 && exit 2', { shell: true, stdio: 'inherit' }).status);",
  ],
  [
    'leaves a process behind that holds its output',
    "require('node:child_process').spawn('sleep', ['55'], { stdio: 'inherit' }).unref(); console.error('no: left'); process.exit(2);",
  ],
])('a hook that %s blocks all the same, at once', async (_, script) => {
  const shop = workshop();
  shop.write('reasonix.toml', hook(shop, 'guard', 'before_tool', script));
  const { runtime } = await shop.open(
    ({ messages }) =>
      messages.length === 1
        ? { calls: [call('write_file', { path: 'x.txt', content: 'x' })] }
        : { text: lastResult(messages) },
    { trustProject: true, yes: true },
  );
  const before = performance.now();
  const { answer } = await (await runtime.session()).send('write').result;
  expect(answer).toMatch(/guard.*no:/s);
  expect(answer.length).toBeLessThan(9_000);
  expect(existsSync(join(shop.cwd, 'x.txt'))).toBe(false);
  expect(performance.now() - before).toBeLessThan(20_000);
});

test('a hook may leave unread what it is told, however long', async () => {
  const shop = workshop();
  const log = join(shop.cwd, 'log.txt');
  const command = JSON.stringify(`exec 0<&-; echo ran >> "${log}"`);
  shop.write('reasonix.toml', `[[hooks]]\nname = "deaf"\non = ["before_tool", "after_tool"]\ncommand = ${command}\n`);
  const problems: string[] = [];
  const { runtime } = await shop.open(
    ({ messages }) =>
      messages.length === 1 ? { calls: [call('write_file', { path: 'x.txt', content: 'x'.repeat(2e6) })] } : 'done',
    { trustProject: true, yes: true, onProblem: (text) => problems.push(text) },
  );
  expect(await (await runtime.session()).send('write').result).toMatchObject({ status: 'completed', answer: 'done' });
  expect(lines(log)).toEqual(['ran', 'ran']);
  expect(problems).toEqual([]);
});

test('a call that fails is told after it as well', async () => {
  const shop = workshop();
  const log = join(shop.cwd, 'log.txt');
  shop.write('reasonix.toml', hook(shop, 'all', 'after_tool', appendTo(log, "given.tool + ' ' + given.is_error")));
  const { runtime } = await shop.open(
    ({ messages }) => (messages.length === 1 ? { calls: [call('read_file', { path: 'none.txt' })] } : 'done'),
    { trustProject: true },
  );
  await (await runtime.session()).send('read').result;
  expect(lines(log)).toEqual(['read_file true']);
});

test('after a tool a hook adds its word to the result', async () => {
  const shop = workshop();
  shop.write('a.txt', 'text');
  shop.write(
    'reasonix.toml',
    hook(shop, 'lint', 'after_tool', "console.error('line 1 is too short'); process.exit(2);"),
  );
  const { runtime } = await shop.open(
    ({ messages }) =>
      messages.length === 1 ? { calls: [call('read_file', { path: 'a.txt' })] } : { text: lastResult(messages) },
    { trustProject: true },
  );
  const { answer } = await (await runtime.session()).send('go').result;
  expect(answer).toMatch(/text[\s\S]*The hook lint says: line 1 is too short$/);
});

test('a hook holds a turn back until it is content, but not for ever', async () => {
  const shop = workshop();
  const problems: string[] = [];
  shop.write(
    'reasonix.toml',
    hook(
      shop,
      'check',
      'turn_end',
      "if (!/tested/.test(given.answer)) { console.error('run the tests'); process.exit(2); }",
    ),
  );
  const { runtime, model } = await shop.open(
    ({ messages }) => {
      const last = messages.at(-1);
      return { text: last?.role === 'user' && last.content.includes('run the tests') ? 'tested' : 'done' };
    },
    { trustProject: true, onProblem: (text) => problems.push(text) },
  );
  expect((await (await runtime.session()).send('go').result).answer).toBe('tested');
  expect(model.requests).toHaveLength(2);

  const stubborn = await shop.open(() => ({ text: 'done' }), {
    trustProject: true,
    onProblem: (text) => problems.push(text),
  });
  const { status } = await (await stubborn.runtime.session()).send('go').result;
  expect(status).toBe('completed');
  expect(stubborn.model.requests).toHaveLength(6);
  expect(problems).toEqual([expect.stringMatching(/held the turn back 5 times/)]);
}, 30_000);

test('what a hook says at the start is part of the prompt; one that blocks there ends the run with its reason', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', hook(shop, 'branch', 'session_start', "console.log('The branch is main.')"));
  const { runtime, model } = await shop.open(() => ({ text: 'done' }), { trustProject: true });
  await (await runtime.session()).send('go').result;
  expect(model.requests[0]?.system).toMatch(/The branch is main\.$/);

  shop.write(
    'reasonix.toml',
    hook(shop, 'branch', 'session_start', "console.error('no work on Sundays'); process.exit(2)"),
  );
  const blocked = await shop.open(() => ({ text: 'done' }), { trustProject: true });
  await expect(blocked.runtime.session()).rejects.toThrow(/branch does not allow this: no work on Sundays/);
});

test('a hook that fails or takes too long stops nothing, ends with all its processes, and is said', async () => {
  const shop = workshop();
  const problems: string[] = [];
  shop.write(
    'reasonix.toml',
    `${hook(shop, 'slow', 'before_model', "require('node:child_process').spawn('sleep', ['30'], { stdio: 'inherit' }); setInterval(() => {}, 1000)", 'timeout = "300ms"')}
[[hooks]]
name = "missing"
on = ["before_model"]
command = "no-such-program-at-all"
`,
  );
  const { runtime } = await shop.open(() => ({ text: 'done' }), {
    trustProject: true,
    onProblem: (text) => problems.push(text),
  });
  expect((await (await runtime.session()).send('go').result).status).toBe('completed');
  expect(problems).toEqual([
    expect.stringMatching(/slow \(before_model\) failed: it took longer than 0\.3 s/),
    expect.stringMatching(/missing \(before_model\) failed: .*not found/s),
  ]);
}, 20_000);

test('hooks of a project wait for a word, those of the user do not; secrets stay out of their environment', async () => {
  const shop = workshop();
  const log = join(shop.cwd, 'log.txt');
  shop.write('reasonix.toml', hook(shop, 'theirs', 'session_start', appendTo(log, "'theirs'")));
  const mine = hook(shop, 'mine', 'session_start', appendTo(log, "'mine ' + (process.env.MY_API_KEY ?? 'no key')"));
  shop.write('../home/.reasonix/config.toml', mine);
  const { runtime } = await shop.open(() => ({ text: 'done' }), {
    env: { MY_API_KEY: 'made-up-secret', PATH: process.env.PATH },
    onProblem: () => {},
  });
  await (await runtime.session()).send('go').result;
  expect(lines(log)).toEqual(['mine no key']);
});
