import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { call, workshop } from '../runtime/workshop.ts';

const CHILDREN = 200;

it.skipIf(process.platform !== 'linux')(
  `${CHILDREN} children leave no listener and no descriptor behind`,
  {
    timeout: 60_000,
  },
  async () => {
    const warnings: string[] = [];
    const warn = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`);
    process.on('warning', warn);
    try {
      const shop = workshop();
      shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
      const { runtime } = await shop.open(
        async (request) => {
          // All children that may run at once wait for the same signal.
          if (request.skill) return new Promise((resolve) => setImmediate(() => resolve('dug')));
          return request.messages.some(({ role }) => role === 'tool')
            ? 'done'
            : {
                calls: Array.from({ length: CHILDREN }, (_, n) =>
                  call('run_skill', { name: 'dig', arguments: `${n}` }),
                ),
              };
        },
        { overrides: ['agent.max_concurrent=50', `agent.max_spawns=${CHILDREN}`] },
      );
      const session = await runtime.session();
      const before = readdirSync('/proc/self/fd').length;
      const { signal } = new AbortController();
      const run = await session.send('go', { signal }).result;
      await new Promise(setImmediate);
      expect(run.subagents.filter(({ status }) => status === 'completed')).toHaveLength(CHILDREN);
      expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before + 2);
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', warn);
    }
  },
);
