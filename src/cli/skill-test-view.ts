import type { GradedAssertion } from '../runtime/skill-test/grade.ts';
import type { CaseReport, CaseRun, SkillTestReport } from '../runtime/skill-test/test-skill.ts';
import { shortCount, shortTime } from './format.ts';
import { dataColumns } from './output.ts';
import { type Paint, printable, printableLine, table } from './terminal.ts';

/** `passed 3/3`, `failed 1/3`, `not graded`, `limit`. */
export function stateOf({ passed, status, assertions }: CaseRun): string {
  if (status !== 'completed') return status.replace('_', ' ');
  if (passed === null) return 'not graded';
  const graded = assertions.filter((each) => each.passed !== null);
  return `${passed ? 'passed' : 'failed'} ${graded.filter((each) => each.passed).length}/${graded.length}`;
}

/** The report as `skill test --json` prints it. */
export function testJson({ skill, cases, passed, failed, notGraded }: SkillTestReport): Record<string, unknown> {
  return {
    skill,
    cases: cases.map(({ id, prompt, expectedOutput, with: own, without }) => ({
      id,
      prompt,
      expected_output: expectedOutput ?? null,
      with: runJson(own),
      without: without ? runJson(without) : null,
    })),
    passed,
    failed,
    not_graded: notGraded,
  };
}

const runJson = ({ passed, status, assertions, answer, tokens, ms, session, error }: CaseRun) => ({
  passed,
  status,
  assertions,
  answer,
  tokens,
  ms,
  session,
  error: error ?? null,
});

/** A table of the cases, then what failed, and what a person has to judge. */
export function testLines({ cases }: SkillTestReport, paint: Paint): string[] {
  const compares = cases.some(({ without }) => without);
  const rows = cases.map(({ id, with: own, without }) => [
    printableLine(id),
    stateOf(own),
    ...(compares ? [without ? stateOf(without) : ''] : []),
    pair(own, without, ({ tokens }) => shortCount(tokens)),
    pair(own, without, ({ ms }) => shortTime(ms)),
  ]);
  const head = ['CASE', 'WITH', ...(compares ? ['WITHOUT'] : []), 'TOKENS', 'TIME'];
  const [first = '', ...lines] = table(head, rows, dataColumns());
  return [paint('bold', first), ...lines, ...cases.flatMap((each) => details(each, paint))];
}

const pair = (own: CaseRun, without: CaseRun | undefined, of: (run: CaseRun) => string): string =>
  without ? `${of(own)} / ${of(without)}` : of(own);

function details({ id, expectedOutput, with: own }: CaseReport, paint: Paint): string[] {
  const { assertions, passed, session, error, answer } = own;
  const failed = assertions.filter((each) => each.passed === false);
  const open = assertions.filter((each) => each.passed === null);
  const lines = [
    ...(error === undefined ? [] : [`${paint('red', 'error')}  ${printableLine(error)}`]),
    ...(error === undefined ? failed : []).map((each) => assertionLine(paint('red', 'failed'), each)),
    ...open.map(({ text }) => `${paint('yellow', 'judge')}  ${printableLine(text)}`),
  ];
  if (passed === null && expectedOutput !== undefined)
    lines.push(`${paint('dim', 'expected')}  ${printableLine(expectedOutput)}`);
  if (passed === null) lines.push(`${paint('dim', 'answer')}  ${printable(answer).split('\n').join('\n    ')}`);
  if (lines.length === 0) return [];
  return ['', `${paint('bold', printableLine(id))}  ${paint('dim', session)}`, ...lines.map((line) => `  ${line}`)];
}

const assertionLine = (label: string, { text, evidence }: GradedAssertion): string =>
  `${label}  ${printableLine(text)}: ${printableLine(evidence)}`;
