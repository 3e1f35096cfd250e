import type { Assertion, Subject } from './assertions.ts';

export interface GradedAssertion {
  text: string;
  /** `null`: only a person can tell. */
  passed: boolean | null;
  evidence: string;
}

export interface Grade {
  /** `null` when nothing could be graded; a run that did not complete has failed all the same. */
  passed: boolean | null;
  assertions: GradedAssertion[];
}

/** Grades a run by all assertions of its case, one after the other: commands may change the folder. */
export async function grade(
  assertions: readonly Assertion[],
  subject: Subject,
  { status, error }: { status: string; error?: string | undefined },
): Promise<Grade> {
  const isComplete = status === 'completed';
  const graded: GradedAssertion[] = [];
  for (const { text, check } of assertions) {
    if (!check) graded.push({ text, passed: null, evidence: 'not graded: a person has to judge it' });
    else if (!isComplete)
      graded.push({ text, passed: false, evidence: `the run ended as ${status}: ${error ?? 'no reason given'}` });
    else graded.push({ text, ...(await check(subject)) });
  }
  if (!isComplete) return { passed: false, assertions: graded };
  const verdicts = graded.flatMap(({ passed }) => (passed === null ? [] : [passed]));
  return { passed: verdicts.length === 0 ? null : verdicts.every(Boolean), assertions: graded };
}
