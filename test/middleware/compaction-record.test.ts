import { expect, it } from 'vitest';
import type { Message } from '../../src/core/messages.ts';
import { noticeOf, recordOf } from '../../src/middleware/compaction/record.ts';
import { newSession, turn } from '../session/engine-host.ts';
import { compacting, compactionsIn, isSummary, tokensOf } from './compaction-bench.ts';

const user = (content: string, origin: 'user' | 'notice' = 'user'): Message => ({ role: 'user', origin, content });

const answer: Message = { role: 'assistant', text: 'ok', toolCalls: [] };

it('a record of what users said alone fits its limit: long messages are cut, the oldest left out', () => {
  const long = Array.from({ length: 100 }, (_, index) => user(`m${index} ${'word '.repeat(700)}`));
  const cut = recordOf(long, 40_000);
  expect(cut.length).toBeLessThan(40_100);
  expect(cut).toContain('user: m0 ');
  expect(cut).toContain('user: m99 ');

  const many = Array.from({ length: 20_000 }, (_, index) => [user(`m${index} and so on`), answer]).flat();
  const earlier = user(noticeOf('What was done long ago.'), 'notice');
  const kept = recordOf([earlier, ...many], 8_000);
  expect(kept.length).toBeLessThan(8_100);
  expect(kept).toMatch(/^\(\d+ older entries are left out\.\)\n\nnotice: /);
  expect(kept).toContain('What was done long ago.');
  expect(kept).toContain('user: m19999 and so on');
  expect(kept).not.toContain('user: m5 ');
});

it('a cheaper model with a smaller window is sent no more than that holds, however much was said', async () => {
  const bench = compacting((request) => (isSummary(request) ? 'SUMMARY \ud83d' : 'ok'), 100_000, {
    compactor: {
      model: async () => ({
        client: bench.model,
        provider: 'scripted',
        model: 'cheap',
        contextWindow: 16_000,
        isWindowKnown: true,
        price: undefined,
      }),
    },
  });
  const session = await newSession(bench);
  for (let count = 0; count < 90; count++) await turn(session, `message ${count} ${'word '.repeat(780)}`);
  const asked = bench.model.requests.filter(isSummary);
  expect(asked).toHaveLength(1);
  expect(Math.max(...asked.map(tokensOf))).toBeLessThan(16_000 - 4_000);
  const [event] = compactionsIn(await bench.store.read(session.id));
  expect(event).toMatchObject({ model: 'cheap' });
  // Half of a character is no text that a provider takes back.
  expect(event?.messages.at(-1)?.content).toContain('SUMMARY \ufffd');
});
