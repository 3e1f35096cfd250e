import { expect, it } from 'vitest';
import { workshop } from './workshop.ts';

it('says which permission rules name no tool or cannot be read', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', '[permissions]\ndeny = ["shel(rm *)", "shell(rm *", "Bash(git push *)", "mcp__x__y"]\n');
  const problems: string[] = [];
  await shop.open(() => 'ok', { allow: ['wirte_file', 'write_file(*.md)'], onProblem: (text) => problems.push(text) });
  expect(problems).toEqual([
    'permissions.deny: there is no tool "shel"; did you mean shell?',
    'permissions.deny: "shell(rm *" is no rule; write TOOL or TOOL(PATTERN)',
    'the allowed rules of this run: there is no tool "wirte_file"; did you mean write_file?',
  ]);
});

it('an observer that throws does not harm what it watches', async () => {
  const shop = workshop();
  const problems: string[] = [];
  const { runtime, model } = await shop.open(() => 'ok', { onProblem: (text) => problems.push(text) });
  runtime.observe(() => {
    throw new Error('broken observer');
  });
  const session = await runtime.session();
  expect(await session.send('go').result).toMatchObject({ status: 'completed', answer: 'ok' });
  expect(await session.send('again').result).toMatchObject({ status: 'completed' });
  expect(model.requests).toHaveLength(2);
  expect(problems).toContain('an observer failed: broken observer');
});

it('names a time limit in seconds', async () => {
  const shop = workshop();
  const { runtime } = await shop.open(
    ({ toolChoice }) => (toolChoice === 'none' ? 'so far' : { text: 'late', latency: 5_000 }),
    { limits: { time: 100 } },
  );
  const result = await (await runtime.session()).send('go').result;
  expect(result).toMatchObject({ status: 'limit', answer: 'so far' });
  expect(result.error).toBe('time limit of 0.1 s reached (set by the caller)');
});
