/**
 * A pipeline in code: a plan as JSON, a researcher for each of its questions, a critic that is continued
 * until it is satisfied, and a writer. The model is a script; the files are those of examples/research.
 */
import { fileURLToPath } from 'node:url';
import { fanOut, memoryStore, openRuntime, scriptedModel, until } from 'reasonix';

const model = scriptedModel([
  { when: { skill: 'plan', step: 1 }, calls: [{ name: 'list_files', arguments: { path: 'logs' } }] },
  {
    when: { skill: 'plan' },
    text: 'Two files matter:\n```json\n{"questions": ["How many lines of logs/gateway.txt have \\"status=503\\"?", "How many lines of logs/checkout.txt have \\"pool exhausted\\"?"]}\n```',
  },
  {
    when: { skill: 'research', turn_step: 1 },
    calls: [
      {
        name: 'grep',
        arguments: { pattern: `{{user | match '"(.*)"'}}`, path: `{{user | match 'logs/\\w+.txt'}}`, max: 1000 },
      },
    ],
  },
  {
    when: { skill: 'research', turn: 1 },
    text: `{{last_result | count "^logs/"}} lines have {{task | match '".*"'}}.`,
  },
  { when: { skill: 'research' }, text: String.raw`The first one is {{last_result | match "^\S+?:\d+"}}.` },
  {
    when: { skill: 'critic', turn: 1 },
    text: `{"satisfied": false, "ask": "Where in logs/gateway.txt is the first \\"status=503\\"?"}`,
  },
  { when: { skill: 'critic' }, text: '{"satisfied": true}' },
  {
    when: { skill: 'writer', system: 'The answer in the first line' },
    text: String.raw`Requests failed because connections ran out.
{{task | match "^\d+ lines have .status=503"}}": {{task | match "logs/gateway.txt:\d+"}}
{{task | match "^\d+ lines have .pool exhausted"}}": logs/checkout.txt`,
  },
]);

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const runtime = await openRuntime({
  cwd: here('../research/files'),
  skillsFrom: here('.'),
  reasonixHome: here('out/home'),
  store: memoryStore(),
  model,
});
const question = 'Why did requests fail on 12 May?';

const plan = await runtime.skill('plan').run(question);
const { questions } = plan.output;
console.log(`Plan: ${questions.length} questions`);

const findings = await fanOut(runtime.skill('research'), questions, { concurrency: 4 });
for (const { task, run, error } of findings) console.log(`- ${task} ${run?.answer ?? error}`);
const runs = findings.flatMap(({ ok, run }) => (ok ? [run] : []));

const critique = await runtime.skill('critic').run(`Do these findings answer: ${question}`, { inputs: runs });
const { rounds, satisfied } = await until(critique, async ({ output }) => {
  if (output.satisfied) return undefined;
  console.log(`Critic: ${output.ask}`);
  const more = await runs[0].continue(output.ask);
  runs.push(more);
  return `The answer: ${more.answer}`;
});
console.log(`Critic satisfied: ${satisfied}, after ${rounds} more round`);

const report = await runtime.skill('writer').run(question, { inputs: runs });
console.log(report.answer);
await runtime.close();
