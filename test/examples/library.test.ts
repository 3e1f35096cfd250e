import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { built } from '../cli/workplace.ts';
import { Place } from './run-example.ts';

const place = new Place();
beforeAll(built);
afterAll(() => place.remove());

it('examples/chain feeds two runs into a third and goes on in a thread', async () => {
  const { code, stdout, stderr } = await place.node([join('examples', 'chain', 'main.js')]);
  expect(stderr).toBe('');
  expect(stdout.trim().split('\n')).toEqual([
    '64 lines have "status=503".',
    '63 lines have "order placed".',
    'Together 127 lines.',
    'The first one is logs/gateway.txt:12.',
    expect.stringMatching(/^Same thread: true \(sa_\w+\)$/),
  ]);
  expect(code).toBe(0);
});

it('examples/required nudges three times, then injects the skill, or fails by policy', async () => {
  const { code, stdout, stderr } = await place.node([join('examples', 'required', 'main.js')]);
  expect(stderr).toBe('');
  const nudges = [1, 2, 3].map((count) => `  nudge ${count}: load house-rules`);
  expect(stdout.trimEnd().split('\n').slice(1)).toEqual([
    'policy inject',
    ...nudges,
    '  house-rules was put into the context: inject',
    '  completed: Two and two is four. Checked against the house rules.',
    '',
    'policy fail',
    ...nudges,
    '  failed: required skills were not loaded after 3 nudges: house-rules',
  ]);
  expect(code).toBe(0);
});

it('examples/pipeline plans, looks into each part, asks until the critic is satisfied, and writes', async () => {
  const { code, stdout, stderr } = await place.node([join('examples', 'pipeline', 'main.js')]);
  expect(stderr).toBe('');
  expect(stdout.trim().split('\n')).toEqual([
    'Plan: 2 questions',
    '- How many lines of logs/gateway.txt have "status=503"? 64 lines have "status=503".',
    '- How many lines of logs/checkout.txt have "pool exhausted"? 64 lines have "pool exhausted".',
    'Critic: Where in logs/gateway.txt is the first "status=503"?',
    'Critic satisfied: true, after 1 more round',
    'Requests failed because connections ran out.',
    '64 lines have "status=503": logs/gateway.txt:12',
    '64 lines have "pool exhausted": logs/checkout.txt',
  ]);
  expect(code).toBe(0);
});
