/**
 * Sub-agents from code: two research runs side by side, a third that gets both answers as its input,
 * and one of the threads continued. The model is a script; the files are those of examples/research.
 */
import { fileURLToPath } from 'node:url';
import { memoryStore, openRuntime, scriptedModel } from 'reasonix';

const model = scriptedModel([
  { when: { turn: 2 }, text: String.raw`The first one is {{last_result | match "^\S+?:\d+"}}.` },
  {
    when: { skill: 'research', step: 1 },
    calls: [{ name: 'grep', arguments: { pattern: `{{task | match '"(.*)"'}}`, path: 'logs', max: 1000 } }],
  },
  { when: { skill: 'research' }, text: `{{last_result | count "^logs/"}} lines have {{task | match '".*"'}}.` },
  { when: { skill: 'synthesize' }, text: 'Together {{task | match_all "^([0-9]+) lines" | sum}} lines.' },
]);

const runtime = await openRuntime({
  cwd: fileURLToPath(new URL('../research/files', import.meta.url)),
  reasonixHome: fileURLToPath(new URL('out/home', import.meta.url)),
  store: memoryStore(),
  model,
});

const research = runtime.skill('research');
const [failed, placed] = await Promise.all([
  research.run('How many lines of the logs have "status=503"?'),
  research.run('How many lines of the logs have "order placed"?'),
]);
console.log(failed.answer);
console.log(placed.answer);

const both = await runtime.skill('synthesize').run('Add the counts up.', { inputs: [failed, placed] });
console.log(both.answer);

const more = await failed.continue('And where is the first one?');
console.log(more.answer);
console.log(`Same thread: ${more.ref === failed.ref} (${more.ref})`);

await runtime.close();
