import { createInterface } from 'node:readline';
import { bullmqEngine } from '../../src/engines/bullmq.ts';

/**
 * A worker in a process of its own. It says what it does, a line each: `begin <session>`, `end <session>`,
 * `cancel <session> <reason>`, `problem <text>`. Sessions called `hold…` run until stdin says `release`,
 * `slow…` take a moment, all others end at once. On `close` it closes in peace.
 */
const [url = '', prefix = '', concurrency = '4', maxRunning = '0'] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${text}\n`);
const engine = bullmqEngine({
  url,
  prefix,
  lockDuration: 1_000,
  stalledInterval: 400,
  maxRunning: Number(maxRunning),
  onProblem: (text) => say(`problem ${text}`),
});
let release = () => {};
const released = new Promise<void>((resolve) => {
  release = resolve;
});
const claim = await engine.claim(
  async ({ session }, { onCancel }) => {
    say(`begin ${session}`);
    onCancel(({ reason }) => say(`cancel ${session} ${reason}`));
    if (session.startsWith('hold')) await released;
    if (session.startsWith('slow')) await new Promise((resolve) => setTimeout(resolve, 30));
    say(`end ${session}`);
    return 'ended';
  },
  { concurrency: Number(concurrency) },
);
say('ready');
createInterface({ input: process.stdin }).on('line', async (line) => {
  if (line === 'release') release();
  if (line !== 'close') return;
  await claim.close();
  await engine.close();
  process.exit(0);
});
