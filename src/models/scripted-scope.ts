import { ReasonixError } from '../core/errors.ts';
import type { ScriptFacts } from './scripted-facts.ts';
import type { TemplateScope, TemplateValue } from './scripted-template.ts';

export const SOURCES: Readonly<Record<string, (facts: ScriptFacts) => TemplateValue>> = {
  task: (facts) => facts.task,
  user: (facts) => facts.user,
  message: (facts) => facts.message,
  system: (facts) => facts.system,
  skill: (facts) => facts.skill,
  model: (facts) => facts.model,
  session: (facts) => facts.session,
  step: (facts) => facts.step,
  turn: (facts) => facts.turn,
  turn_step: (facts) => facts.turnStep,
  last_result: (facts) => facts.results.at(-1)?.content,
  results: (facts) => facts.stepResults.map(({ content }) => content),
  result: (facts) => facts.stepResults.map(({ content }) => content),
  all_results: (facts) => facts.results.map(({ content }) => content),
  calls: (facts) => facts.stepCalls.map((call) => call.arguments),
  call: (facts) => facts.stepCalls.map((call) => call.arguments),
  refs: (facts) => facts.refs,
  ref: (facts) => facts.refs,
};

/** The names that templates know. `tool.NAME` are all results of that tool in the session. */
export function scopeOf(facts: ScriptFacts): TemplateScope {
  return ([name = '', ...path]) => {
    if (name === 'tool') {
      const [tool = '', ...rest] = path;
      return member(
        facts.results.filter((result) => result.name === tool).map(({ content }) => content),
        rest,
      );
    }
    const read = Object.hasOwn(SOURCES, name) ? SOURCES[name] : undefined;
    if (!read) {
      throw new ReasonixError('config', `the script's templates have no name ${name}`, {
        hint: `there are ${Object.keys(SOURCES).join(', ')} and tool.NAME; in for_each also item and index`,
        details: { retryable: false },
      });
    }
    return member(read(facts), path);
  };
}

/** `ref.0`, `tool.grep.-1`: an item of a list, from the end when negative. */
function member(value: TemplateValue, path: readonly string[]): TemplateValue {
  const [index] = path;
  if (index === undefined) return value;
  return Array.isArray(value) ? value.at(Number(index)) : undefined;
}
