/**
 * A real question about the files in `files/`, answered without a key: the model is a script, all the
 * rest is the engine at work. Three research children run side by side, one is asked back by its
 * reference, a fourth child joins their answers, and a required skill gives the report its form.
 */
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openRuntime } from 'reasonix';
import { LiveTree } from './tree.js';

const QUESTION = 'Why was the checkout slow on 12 May, what did it cost, and what should change? Write a report.';

// A copy of this folder may be named: change a figure in its files, and the report changes with it.
const here = resolve(process.argv[2] ?? fileURLToPath(new URL('.', import.meta.url)));
const out = join(here, 'out');
const home = join(out, 'home');
const print = (text = '') => process.stdout.write(`${text}\n`);
process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const runtime = await openRuntime({
  cwd: here,
  configFile: join(here, 'scripted.toml'),
  // Nothing of the person who tries this takes part, and nothing is left outside of out/.
  home: out,
  reasonixHome: home,
  env: {},
  allow: ['write_file(out/report.md)'],
});
const session = await runtime.session();

print(`${QUESTION}\n`);
const tree = new LiveTree(process.stdout);
tree.root(session.id);
const run = session.send(QUESTION);
for await (const seen of run) tree.observe(seen);
const { status, answer, error, usage, subagents, required } = await run.result;
await runtime.close();

const path = (file) => quoted(relative(process.cwd(), file) || '.');
const quoted = (text) => (/[^\w./\\:@-]/.test(text) ? `'${text}'` : text);
const tokens = ({ input, output }) => (input + output).toLocaleString('en');
const [first] = subagents;
print(`\n${answer || error}\n`);
print(`Report    ${path(join(out, 'report.md'))}`);
print(`Session   ${session.id}, kept in ${path(home)}`);
print(`Required  ${required.loaded.join(', ') || 'nothing'} loaded after ${required.nudges} nudge`);
print(`Tokens    ${tokens(usage.own)} own, ${tokens(usage.total)} with sub-agents`);
for (const { ref, skill, status: end, steps, usage: own } of subagents) {
  print(`  ${ref}  ${skill}  ${end}, ${steps} steps, ${tokens(own)} tokens`);
}
print(`
Look further:
  REASONIX_HOME=${path(home)} npx reasonix session show ${session.id}
  REASONIX_HOME=${path(home)} npx reasonix run --config ${path(join(here, 'scripted.toml'))} --resume ${first?.ref} 'Which lines have "attempt=4"?'
  ANTHROPIC_API_KEY=… npx reasonix run --cwd ${path(here)} --allow 'write_file(out/*)' '${QUESTION}'`);
process.exitCode = status === 'completed' ? 0 : 1;
