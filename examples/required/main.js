/**
 * A skill that must be in context before a turn may end: `.reasonix/required_skills.txt` names it.
 * This model ignores every nudge. After the third one the policy decides: the skill is injected, or
 * the turn fails.
 */
import { fileURLToPath } from 'node:url';
import { memoryStore, openRuntime, scriptedModel } from 'reasonix';

const model = scriptedModel([
  {
    when: { message: 'house-rules', origin: 'notice' },
    text: 'Two and two is four.\n{{message | match "line \\"(.*)\\""}}',
  },
  { text: 'Two and two is four.' },
]);

for (const policy of ['inject', 'fail']) {
  const runtime = await openRuntime({
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    reasonixHome: fileURLToPath(new URL('out/home', import.meta.url)),
    overrides: [`skills.required.policy=${policy}`],
    store: memoryStore(),
    model,
  });
  const session = await runtime.session();
  const run = session.send('What is two and two?');

  console.log(`\npolicy ${policy}`);
  for await (const { kind, event } of run) {
    if (kind !== 'event') continue;
    if (event.type === 'required.nudged') console.log(`  nudge ${event.count}: load ${event.names.join(', ')}`);
    if (event.type === 'skill.loaded') console.log(`  ${event.name} was put into the context: ${event.via}`);
  }
  const { status, answer, error } = await run.result;
  console.log(`  ${status}: ${error ?? answer.replaceAll('\n', ' ')}`);
  await runtime.close();
}
