import { ReasonixError } from '../core/errors.ts';
import { oneLine } from '../core/text.ts';
import type { ScriptFacts } from './scripted-facts.ts';
import type { ScriptedCall, ScriptedFault, ScriptedReply, ScriptedRule } from './scripted-format.ts';
import { compileMatcher } from './scripted-match.ts';
import { scopeOf } from './scripted-scope.ts';
import { compileTemplate, type Template, type TemplateScope } from './scripted-template.ts';

/** An answer, ready to be sent. */
export interface PreparedReply extends Omit<ScriptedReply, 'calls' | 'faults'> {
  text: string;
  calls: { name: string; arguments: string; id: string | undefined }[];
  faults: readonly ScriptedFault[];
}

/** A rule with its conditions and templates read. */
export interface CompiledRule {
  name: string;
  faults: readonly ScriptedFault[];
  applies(facts: ScriptFacts): boolean;
  reply(facts: ScriptFacts): PreparedReply;
}

/** @throws ReasonixError `config` naming the rule whose template or condition cannot be read. */
export function compileRules(rules: readonly ScriptedRule[]): CompiledRule[] {
  return rules.map((source, index) => {
    const name = source.name ?? `#${index + 1}`;
    try {
      return compileRule(source, name);
    } catch (error) {
      throw ReasonixError.isInstance(error)
        ? new ReasonixError(error.code, `rule ${name}: ${error.message}`, error)
        : error;
    }
  });
}

function compileRule(source: ScriptedRule, name: string): CompiledRule {
  const matches = compileMatcher(source.when ?? {});
  const limit = source.once ? 1 : source.times;
  const text = compileTemplate(source.text ?? '');
  const reasoning = source.reasoning === undefined ? undefined : compileTemplate(source.reasoning);
  const calls = (source.calls ?? []).map(compileCall);
  const faults = faultsOf(source);
  return {
    name,
    faults,
    applies: (facts) => matches(facts) && (limit === undefined || (facts.fired.get(name) ?? 0) < limit),
    reply: (facts) => {
      const scope = scopeOf(facts);
      try {
        return {
          ...source,
          text: text.text(scope),
          reasoning: reasoning?.text(scope),
          calls: calls.flatMap((each) => each(scope)),
          faults,
        };
      } catch (error) {
        throw ReasonixError.isInstance(error)
          ? new ReasonixError('provider', `rule ${name}: ${error.message}`, error)
          : error;
      }
    },
  };
}

type CompiledCall = (scope: TemplateScope) => PreparedReply['calls'];

function compileCall(source: ScriptedCall): CompiledCall {
  const name = compileTemplate(source.name);
  const render = compileArguments(source.arguments ?? {});
  const make = (scope: TemplateScope) => ({ name: name.text(scope), arguments: render(scope), id: source.id });
  if (source.for_each === undefined) return (scope) => [make(scope)];
  const list = compileTemplate(source.for_each);
  return (scope) => {
    const value = list.value(scope);
    const items = Array.isArray(value)
      ? value
      : String(value)
          .split('\n')
          .filter((line) => line.trim() !== '');
    return items.map((item, index) =>
      make((path) => (path[0] === 'item' ? item : path[0] === 'index' ? index : scope(path))),
    );
  };
}

function compileArguments(value: Record<string, unknown> | string): (scope: TemplateScope) => string {
  if (typeof value === 'string') {
    const template = compileTemplate(value);
    return (scope) => template.text(scope);
  }
  const render = compileValue(value);
  return (scope) => JSON.stringify(render(scope));
}

function compileValue(value: unknown): (scope: TemplateScope) => unknown {
  if (typeof value === 'string') {
    const template: Template = compileTemplate(value);
    return (scope) => template.value(scope);
  }
  if (Array.isArray(value)) {
    const items = value.map(compileValue);
    return (scope) => items.map((item) => item(scope));
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => [key, compileValue(item)] as const);
    return (scope) => Object.fromEntries(entries.map(([key, item]) => [key, item(scope)]));
  }
  return () => value;
}

export function faultsOf(reply: ScriptedReply): readonly ScriptedFault[] {
  const { faults = [] } = reply;
  return Array.isArray(faults) ? faults : [faults as ScriptedFault];
}

/** The error for a request that no rule answers: it says what was asked. */
export function noRule(facts: ScriptFacts, script: string): ReasonixError {
  const result = facts.newResults.at(-1);
  const newest = result
    ? `newest result of ${result.name}: ${excerpt(result.content)}`
    : `message: ${excerpt(facts.message ?? facts.user)}`;
  const skill = facts.skill === undefined ? 'no skill' : `skill ${facts.skill}`;
  return new ReasonixError(
    'provider',
    `${script} has no rule for this request (${skill}, step ${facts.step}, ${newest})`,
    {
      hint: 'add a rule that matches it, or a last rule without `when`',
      details: { retryable: false, session: facts.session, step: facts.step, skill: facts.skill },
    },
  );
}

const excerpt = (text: string): string => JSON.stringify(oneLine(text).slice(0, 160));
