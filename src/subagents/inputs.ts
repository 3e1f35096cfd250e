import { prompt } from '../core/prompts.ts';
import type { SessionStore } from '../store/contract.ts';
import { answerOf, findReference } from './references.ts';

/**
 * The task with the full answers of earlier children behind it, so that a chain does not pass through
 * the parent's tokens.
 */
export async function withInputs(
  store: SessionStore,
  task: string,
  references: readonly string[],
  root: string,
): Promise<string> {
  if (references.length === 0) return task;
  const inputs = await Promise.all(
    [...new Set(references)].map(async (reference) => {
      const { thread } = await findReference(store, reference, root);
      const { answer, skill, status } = answerOf(reference, thread);
      return prompt('input', { reference, skill, status, answer });
    }),
  );
  return prompt('inputs', { task, inputs: inputs.join('\n\n') });
}
