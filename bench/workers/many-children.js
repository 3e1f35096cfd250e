// @ts-check
/** One turn whose root starts so many children, so many at once; prints what that takes and what stays. */
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { defineTool, openRuntime } from '../../dist/index.js';
import { writeProject } from './ours.js';

const [folder = '', baseUrl = '', count = '0', concurrency = '0'] = process.argv.slice(2);
await writeProject(baseUrl, folder);
/** @type {string[]} */
const warnings = [];
process.on('warning', ({ name, message }) => void warnings.push(`${name}: ${message}`));

const note = defineTool({
  name: 'note',
  description: 'Takes a note.',
  input: z.object({ text: z.string() }),
  effects: 'read',
  execute: async ({ text }) => text,
});
const runtime = await openRuntime({
  cwd: folder,
  home: join(folder, 'home'),
  env: {},
  tools: [note],
  overrides: [`agent.max_concurrent=${concurrency}`],
});

/** @param {number} children */
async function turn(children) {
  const session = await runtime.session({ model: `standin/parent-${children}`, system: 'You take notes.' });
  const { status, subagents } = await session.send('Take notes.').result;
  const completed = subagents.filter((child) => child.status === 'completed').length;
  if (status !== 'completed' || completed !== children) throw new Error(`${status}, ${completed} of ${children}`);
}

/** Descriptors that are open now, where the system shows them. */
function descriptors() {
  if (process.platform !== 'linux') return { files: 0, connections: 0 };
  const targets = readdirSync('/proc/self/fd').map(targetOf);
  const connections = targets.filter((target) => target.startsWith('socket:')).length;
  return { files: targets.length - connections, connections };
}

/** @param {string} descriptor */
function targetOf(descriptor) {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    // The one of the listing itself.
    return '';
  }
}

function heap() {
  for (let pass = 0; pass < 3; pass++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

await turn(5);
const before = { heap: heap(), ...descriptors() };
const peak = { memory: 0, files: 0, connections: 0 };
const watch = setInterval(() => {
  const { files, connections } = descriptors();
  peak.memory = Math.max(peak.memory, process.memoryUsage().rss);
  peak.files = Math.max(peak.files, files);
  peak.connections = Math.max(peak.connections, connections);
}, 20);
const startedAt = performance.now();
const cpuBefore = process.cpuUsage();
await turn(Number(count));
const ms = performance.now() - startedAt;
const { user, system } = process.cpuUsage(cpuBefore);
clearInterval(watch);
const after = { heap: heap(), ...descriptors() };
console.log(JSON.stringify({ ms, cpu: (user + system) / 1000, before, peak, after, warnings }));
await runtime.close();
