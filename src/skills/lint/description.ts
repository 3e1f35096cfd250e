import type { Skill } from '../types.ts';
import type { Finding } from './problem.ts';

const SHORTEST = 20;

/** Words that say when something applies, in the languages that skills are written in. */
const WHEN =
  /\b(?:when|whenever|if|while|before|after|during|once|upon|until|us(?:e|ed|es|ing|eful|age)|invoke[ds]?|trigger(?:s|ed|ing)?|activates?|apply|applies|asks?|asked|asking|wants?|needs?|requests?|mentions?|load|read this|consult|for any|ideal|helps?|suitable)\b|当|当用户|时|時|用于|用於|适用|適用|场景|場合|とき|使う|使用|利用|触发|경우|때|사용|cuando|usar|usa |utiliza|quand|lorsque|utiliser|wenn|verwende|quando|используй|когда|для|при /iu;

const TODO =
  /^\W*(?:todo|tbd|fixme|xxx)\b|^(?:replace|insert|add|write|enter|put) (?:this |with |your |a |the )*(?:description|text)\b|\blorem ipsum\b|^(?:description|a description|skill description)\W*$/i;

/** Words that every skill could say of itself. */
const EMPTY_WORDS = new Set(
  'a an the this of for to and or in on with your my skill skills agent agents subagent assistant helper help helps tool tools that is are does do'.split(
    ' ',
  ),
);

/** A description is all that a model sees when it chooses: it should say what the skill does, and when. */
export function descriptionFindings(skill: Skill, line: number | undefined): Finding[] {
  const text = skill.description.trim();
  const finding = (severity: Finding['severity'], code: string, message: string): Finding[] => [
    { severity, code, message, ...(line === undefined ? {} : { line }) },
  ];
  if (TODO.test(text)) return finding('warning', 'description-vague', 'the description is still to be written');
  if (repeatsName(text, skill.name)) {
    return finding('warning', 'description-vague', 'the description only repeats the name: say what it does, and when');
  }
  if (weight(text) < SHORTEST) {
    return finding('warning', 'description-vague', 'the description is very short: say what it does, and when');
  }
  const chosenByModels = skill.invocation === 'auto' && !skill.disableModelInvocation;
  if (chosenByModels && !WHEN.test(text)) {
    return finding('info', 'description-when', 'the description does not say when to use the skill');
  }
  return [];
}

/** A sign of Chinese, Japanese or Korean says about as much as three letters. */
const weight = (text: string): number =>
  [...text].reduce(
    (sum, sign) =>
      sum + (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(sign) ? 3 : 1),
    0,
  );

function repeatsName(text: string, name: string): boolean {
  const named = new Set(wordsOf(name));
  return wordsOf(text).every((word) => named.has(word) || EMPTY_WORDS.has(word));
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
