import type { ErrorObject, Options, ValidateFunction } from 'ajv';
import { messageOf, ReasonixError } from '../core/errors.ts';
import { prompt } from '../core/prompts.ts';
import { byteLength, clipGraphemes, oneLine } from '../core/text.ts';
import { compactJson, jsonInText } from './json-in-text.ts';

/** Largest schema, in bytes of its JSON: it rides on every request of the child. */
export const SCHEMA_LIMIT = 16 * 1024;

/** Longest answer that is looked at, in UTF-16 units. */
export const STRUCTURED_LIMIT = 256 * 1024;

/** Faults that a repair message names. */
const MOST_FAULTS = 10;

/** What an answer is: the JSON that fits, as it was written but compact, or what is wrong with it. */
export type CheckedAnswer = { fits: true; json: string } | { fits: false; faults: string[] };

/** Holds an answer against the schema of a skill. */
export type AnswerCheck = (text: string) => CheckedAnswer;

/** Different schemas whose checks are kept; the least recently used goes first. */
const MOST_KEPT = 32;
const kept = new Map<string, Promise<AnswerCheck>>();

/**
 * Makes the check of an `output-schema`. All drafts' common keywords hold, `format` is not looked at,
 * patterns run in linear time, and nothing is fetched.
 * @throws ReasonixError `skill_invalid` for a schema that cannot be used; the message says why.
 */
export function answerCheck(schema: Record<string, unknown>): Promise<AnswerCheck> {
  const text = JSON.stringify(schema);
  const check = kept.get(text) ?? compile(text);
  kept.delete(text);
  kept.set(text, check);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value ?? '');
  return check;
}

async function compile(text: string): Promise<AnswerCheck> {
  const size = byteLength(text);
  if (size > SCHEMA_LIMIT) throw unusable(`it has ${size} bytes of JSON; at most ${SCHEMA_LIMIT} are taken`);
  // A copy, so that what names the draft can be taken off: its meta-schema may not be one that is known.
  const { $schema, $id: _id, id: _oldId, ...schema } = JSON.parse(text) as Record<string, unknown>;
  const ajv = await makeAjv(isOldDraft($schema, schema));
  let validate: ValidateFunction;
  try {
    validate = ajv.compile(schema);
  } catch (error) {
    throw unusable(messageOf(error));
  }
  if ('$async' in validate) throw unusable('$async is not supported');
  return (answer) => checkAnswer(answer, validate);
}

const unusable = (why: string): ReasonixError =>
  new ReasonixError('skill_invalid', `the output-schema cannot be used: ${clipGraphemes(oneLine(why), 500)}`, {
    hint: 'reasonix skill lint shows where it stands',
  });

/** Lists of `items` by position are of draft 7 and before; later drafts call them `prefixItems`. */
function isOldDraft(declared: unknown, schema: Record<string, unknown>): boolean {
  if (typeof declared === 'string') return /draft-0[3467]/.test(declared);
  return hasItemsList(schema);
}

function hasItemsList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) => (key === 'items' && Array.isArray(inner)) || hasItemsList(inner));
}

async function makeAjv(isOld: boolean) {
  const { RE2JS } = await import('re2js');
  // A backtracking engine may need a lifetime for a pattern of ten characters.
  const linear = (pattern: string) => {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
    // Expressions are told apart by their text.
    return { test: (text: string) => expression.test(text), toString: () => pattern };
  };
  const options: Options = {
    strict: false,
    allErrors: true,
    validateFormats: false,
    ownProperties: true,
    logger: false,
    code: { regExp: Object.assign(linear, { code: 'undefined' }) },
  };
  const ajv = isOld ? new (await import('ajv')).Ajv(options) : new (await import('ajv/dist/2020.js')).Ajv2020(options);
  // The library's own compares every item with every other one.
  return ajv.removeKeyword('uniqueItems').addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have two equal items' },
    validate: (wanted: boolean, items: unknown[]) => !wanted || new Set(items.map(sorted)).size === items.length,
  });
}

/** JSON text that is the same for equal values, whatever the order of their keys. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

function checkAnswer(text: string, validate: ValidateFunction): CheckedAnswer {
  if (text.length > STRUCTURED_LIMIT) return unfit(prompt('output-long', { limit: STRUCTURED_LIMIT }));
  const found = jsonInText(text);
  if (found.length === 0) return unfit(prompt('output-no-json'));
  const judged = found.map((json) => ({ json, faults: faultsOf(json, validate) }));
  const fitting = judged.filter(({ faults }) => faults.length === 0);
  const [first] = fitting.length > 0 ? fitting : judged;
  if (fitting.length > 1 || (fitting.length === 0 && judged.length > 1)) {
    return unfit(prompt('output-several', { count: fitting.length || judged.length }));
  }
  if (!first || first.faults.length > 0) return { fits: false, faults: first?.faults ?? [] };
  return { fits: true, json: compactJson(first.json) };
}

const unfit = (fault: string): CheckedAnswer => ({ fits: false, faults: [fault] });

function faultsOf(json: string, validate: ValidateFunction): string[] {
  try {
    if (validate(JSON.parse(json))) return [];
  } catch (error) {
    // A schema that refers to itself without an end, or a value nested thousands deep.
    return [messageOf(error)];
  }
  const errors = validate.errors ?? [];
  const faults = [...new Set(errors.slice(0, 200).map(faultText))];
  const more = faults.length > MOST_FAULTS ? [`… (+${faults.length - MOST_FAULTS})`] : [];
  return [...faults.slice(0, MOST_FAULTS), ...more];
}

function faultText({ instancePath, message = '', keyword, params }: ErrorObject): string {
  const { additionalProperty, allowedValues, allowedValue } = params as Record<string, unknown>;
  const detail = {
    additionalProperties: additionalProperty,
    unevaluatedProperties: (params as Record<string, unknown>).unevaluatedProperty,
    enum: allowedValues,
    const: allowedValue,
  }[keyword];
  const more = detail === undefined ? '' : `: ${JSON.stringify(detail)}`;
  return clipGraphemes(oneLine(`${instancePath || '/'} ${message}${more}`), 200);
}
