import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { keepHeapSmall } from '../../src/cli/worker/small-heap.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { type Chaos, script } from './chaos-script.ts';

/**
 * A worker that is killed and stopped. What it does is written to files that outlive it: every model call,
 * every effect of a tool, and every event that it appended.
 */
const chaos = JSON.parse(process.argv[2] ?? '') as Chaos;
const record = (file: string, ...words: (string | number)[]) =>
  appendFileSync(`${chaos.records}/${file}`, `${words.join(' ')}\n`);

keepHeapSmall();
appendFileSync(`${chaos.records}/effects`, '');
const runtime = await openRuntime({
  cwd: chaos.cwd,
  home: chaos.home,
  env: {},
  overrides: chaos.overrides,
  yes: true,
  model: script(chaos, (session, step) => record('calls', session, step, Date.now())),
  tools: [
    defineTool({
      name: 'mark',
      description: 'Writes a mark.',
      input: z.object({ text: z.string() }),
      effects: 'write',
      execute: async ({ text }, { session, call }) => {
        await delay(5);
        record('effects', text, session, call);
        return `marked ${text}`;
      },
    }),
    defineTool({
      name: 'is_marked',
      description: 'Says whether a mark was made.',
      input: z.object({ text: z.string() }),
      effects: 'read',
      execute: async ({ text }) =>
        readFileSync(`${chaos.records}/effects`, 'utf8').includes(`${text} `) ? 'yes' : 'no',
    }),
  ],
  onProblem: (text) => process.stderr.write(`${text}\n`),
});
runtime.observe((seen) => {
  if (seen.kind === 'event') record('appended', seen.session, seen.event.seq, process.pid);
});
const claim = await runtime.work({ reconcileEvery: 3_000 });
process.stdout.write('ready\n');
process.on('SIGTERM', async () => {
  await claim.close(5_000);
  await runtime.close();
  process.exit(0);
});
