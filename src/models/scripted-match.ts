import { ReasonixError } from '../core/errors.ts';
import type { ScriptFacts } from './scripted-facts.ts';
import type { NumberCondition, ScriptedConditions, TextCondition } from './scripted-format.ts';

export type Matcher = (facts: ScriptFacts) => boolean;

/** Reads the conditions of a rule once. */
export function compileMatcher(when: ScriptedConditions): Matcher {
  const checks: Matcher[] = [];
  const text = (
    condition: TextCondition | undefined,
    whole: boolean,
    read: (facts: ScriptFacts) => string | undefined,
  ) => {
    if (condition === undefined) return;
    const test = textTest(condition, whole);
    checks.push((facts) => {
      const value = read(facts);
      return value !== undefined && test(value);
    });
  };
  const number = (condition: NumberCondition | undefined, read: (facts: ScriptFacts) => number) => {
    if (condition === undefined) return;
    const test = numberTest(condition);
    checks.push((facts) => test(read(facts)));
  };

  if (when.skill === null) checks.push((facts) => facts.skill === undefined);
  else text(when.skill, true, (facts) => facts.skill);
  if (when.kind) checks.push((facts) => facts.kind === when.kind);
  if (when.tool_choice) checks.push((facts) => facts.toolChoice === when.tool_choice);
  number(when.step, (facts) => facts.step);
  number(when.turn, (facts) => facts.turn);
  number(when.turn_step, (facts) => facts.turnStep);
  if (when.origin !== undefined) {
    const test = textTest(when.origin, true);
    checks.push((facts) => facts.origins.some(test));
  }
  text(when.tool, true, (facts) => facts.newResults.at(-1)?.name);
  text(when.model, false, (facts) => facts.model);
  text(when.message, false, (facts) => facts.message);
  text(when.user, false, (facts) => facts.user);
  text(when.last_result, false, (facts) => facts.newResults.at(-1)?.content);
  text(when.system, false, (facts) => facts.system);
  return (facts) => checks.every((check) => check(facts));
}

function textTest(condition: TextCondition, whole: boolean): (value: string) => boolean {
  const tests = (typeof condition === 'string' ? [condition] : condition).map((each) => {
    const regex = /^\/(.+)\/([a-z]*)$/s.exec(each);
    if (regex) {
      const pattern = readRegex(regex[1] ?? '', regex[2] ?? '');
      return (value: string) => pattern.test(value);
    }
    if (each.startsWith('=')) return (value: string) => value === each.slice(1);
    return whole ? (value: string) => value === each : (value: string) => value.includes(each);
  });
  return (value) => tests.some((test) => test(value));
}

function readRegex(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags.replaceAll('g', ''));
  } catch (error) {
    throw new ReasonixError('config', `wrong condition: ${(error as Error).message}`, {
      hint: 'text between two slashes is read as a regular expression; write =/text/ for the text itself',
    });
  }
}

function numberTest(condition: NumberCondition): (value: number) => boolean {
  const list = (Array.isArray(condition) ? condition : [condition]) as readonly (number | string)[];
  const tests = list.map((each) => {
    const range = /^(\d+)\.\.(\d*)$/.exec(String(each));
    if (range) {
      const [, from, to] = range;
      return (value: number) => value >= Number(from) && (to === '' || value <= Number(to));
    }
    const match = /^(>=|<=|>|<)?\s*(\d+)$/.exec(String(each).trim());
    if (!match) {
      throw new ReasonixError('config', `wrong condition: ${JSON.stringify(each)} is no number`, {
        hint: 'write 3, ">=3", "<3", "2..5" or "2.."',
      });
    }
    const limit = Number(match[2]);
    switch (match[1]) {
      case '>=':
        return (value: number) => value >= limit;
      case '<=':
        return (value: number) => value <= limit;
      case '>':
        return (value: number) => value > limit;
      case '<':
        return (value: number) => value < limit;
      default:
        return (value: number) => value === limit;
    }
  });
  return (value) => tests.some((test) => test(value));
}
