import { prompt } from '../core/prompts.ts';
import { byteLength } from '../core/text.ts';
import type { Thread } from '../session/thread.ts';
import type { SessionStore } from '../store/contract.ts';
import { clippedAnswer, fairShare } from './fair-share.ts';
import { answerOf, findReference } from './references.ts';

/** Most bytes of one answer that a task carries, and of all of them; the rest is read with `read_result`. */
const INPUT_LIMIT = 64 * 1024;
const INPUTS_LIMIT = 256 * 1024;

/** The answer of an earlier child, as a new one gets it. */
export interface Input {
  reference: string;
  skill: string;
  status: string;
  answer: string;
}

/** The task with answers of earlier children behind it. */
export function inputsText(task: string, inputs: readonly Input[]): string {
  if (inputs.length === 0) return task;
  return prompt('inputs', { task, inputs: inputs.map(section).join('\n\n') });
}

/** An answer may hold the closing tag itself, so the tag takes a suffix that the answer does not hold. */
function section(input: Input): string {
  let tag = 'input';
  for (let suffix = 2; input.answer.includes(`</${tag}>`); suffix++) tag = `input-${suffix}`;
  return prompt('input', { ...input, tag });
}

/**
 * Looks the answers up in the logs of the children, so that a chain does not pass through the
 * parent's tokens. `canReadOn` says whether whoever gets them has `read_result`. @throws ReasonixError for a reference that is unknown, foreign or still running.
 */
export function withInputs(
  store: SessionStore,
  task: string,
  references: readonly string[],
  root: string,
  canReadOn: boolean,
): Promise<string> {
  const find = async (reference: string) => (await findReference(store, reference, root)).thread;
  return withAnswersOf(task, references, find, canReadOn);
}

/** The same for whoever finds the children in another way. */
export async function withAnswersOf(
  task: string,
  references: readonly string[],
  find: (reference: string) => Promise<Thread>,
  canReadOn = true,
): Promise<string> {
  const inputs = await Promise.all(
    [...new Set(references)].map(
      async (reference): Promise<Input> => ({ reference, ...answerOf(reference, await find(reference)) }),
    ),
  );
  const share = fairShare(
    inputs.map(({ answer }) => byteLength(answer)),
    INPUTS_LIMIT,
  );
  const most = Math.min(INPUT_LIMIT, share);
  const fitting = inputs.map((input) => ({
    ...input,
    answer: clippedAnswer(input.answer, most, input.reference, canReadOn),
  }));
  return inputsText(task, fitting);
}
