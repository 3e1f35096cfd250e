import { z } from 'zod';
import { messageOf } from '../core/errors.ts';
import type { SessionEvent } from '../core/events.ts';
import type { LimitHit } from '../core/limits.ts';
import type { ToolDefinition, ToolImage } from '../core/messages.ts';
import { prompt } from '../core/prompts.ts';
import { parseArgumentsJson } from './arguments-json.ts';

/** `read` runs beside others and again after a crash; `write` is a barrier and never runs twice; `agent` starts or continues a session. */
export type ToolEffects = 'read' | 'write' | 'agent';

/** What a tool gets to know about the call it answers. */
export interface ToolContext {
  session: string;
  call: string;
  /** The session's working folder, absolute. */
  cwd: string;
  /** A folder of this session alone, absolute, made when it is first used; a root session has none. */
  scratch?: string | undefined;
  /** Aborts when the call must end: cancel, deadline, the parent's end. */
  signal: AbortSignal;
  /** The call was asked for before a crash and may have begun; only `read` and `agent` tools see it. */
  recovering: boolean;
  /** A line for whoever watches. */
  progress(text: string): void;
}

export interface ToolOutcome {
  content: string;
  isError?: boolean | undefined;
  /** The child session that gave the answer. */
  child?: string | undefined;
  /** The limit that kept a child from being started. */
  limit?: LimitHit | undefined;
  /** The whole text, when `content` is a clipped part of it. */
  full?: string | undefined;
  /** Pictures: at most five of 5 MB each, png, jpeg, gif or webp; others are left out with a note. */
  images?: ToolImage[] | undefined;
  /** The tool bounds `content` itself, and a cut in the middle would break it: a skill's body. */
  isBounded?: boolean | undefined;
  /** Events that become durable together with the result, before it. */
  events?: SessionEvent[] | undefined;
}

/** Arguments that were accepted, or the text that tells the model what was wrong with them. */
export type ParsedArguments<Input> = { ok: true; input: Input } | { ok: false; problem: string };

export interface Tool<Input = unknown> extends ToolDefinition {
  readonly effects: ToolEffects;
  /** As in `ToolOptions`. */
  readonly maxResult?: number | undefined;
  parse(argumentsText: string): ParsedArguments<Input>;
  /** What permission rules match on: `shell(git status)` has the subject `git status`. */
  subject(input: Input): string;
  /** Whether a call touches nothing but the session's scratch folder: then nobody is asked about it. */
  staysInScratch?(input: Input, context: ToolContext): boolean;
  execute(input: Input, context: ToolContext): Promise<ToolOutcome | string>;
}

export interface ToolOptions<Schema extends z.ZodType> {
  /** 1 to 64 letters, digits, `_` and `-`: what every provider takes. */
  name: string;
  description: string;
  /** An object: models give arguments by name. */
  input: Schema;
  effects: ToolEffects;
  /**
   * Bytes of UTF-8 that a result has at most; a longer one is cut to them. Default: as many as
   * `tools.output_limit` says. A sub-agent all of whose tools say so, and say less than that, is not given
   * `read_result`, which saves the 213 bytes of it in each of its requests.
   */
  maxResult?: number | undefined;
  subject?: (input: z.output<Schema>) => string;
  staysInScratch?: ((input: z.output<Schema>, context: ToolContext) => boolean) | undefined;
  execute(input: z.output<Schema>, context: ToolContext): Promise<ToolOutcome | string>;
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** What Anthropic takes as the name of an argument; it refuses any other with the whole request. */
export const ARGUMENT_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/**
 * Makes a tool from a zod schema. @throws RangeError for a `maxResult` that is no positive number, and for a
 * name or an input that a provider would refuse, with the whole request.
 * @example
 * const clock = defineTool({
 *   name: 'clock',
 *   description: 'The time now, ISO 8601.',
 *   input: z.object({}),
 *   effects: 'read',
 *   execute: async () => new Date().toISOString(),
 * });
 */
export function defineTool<Schema extends z.ZodType>(options: ToolOptions<Schema>): Tool<z.output<Schema>> {
  const { name, description, input, effects, maxResult, staysInScratch } = options;
  if (!NAME.test(name)) {
    throw new RangeError(`a tool cannot be called ${JSON.stringify(name)}: use 1 to 64 letters, digits, _ and -`);
  }
  if (maxResult !== undefined && !(maxResult > 0)) {
    throw new RangeError(`the tool ${name} has the maxResult ${maxResult}: give bytes, or leave it out`);
  }
  const parameters = parametersOf(input);
  if (parameters.type !== 'object') {
    throw new RangeError(`the input of the tool ${name} is no object: models give arguments by name, as of z.object`);
  }
  const odd = Object.keys(parameters.properties ?? {}).find((each) => !ARGUMENT_NAME.test(each));
  if (odd !== undefined) {
    throw new RangeError(
      `the tool ${name} has an argument ${JSON.stringify(odd)}: use 1 to 64 letters, digits, _, - and .`,
    );
  }
  return {
    name,
    description,
    parameters,
    effects,
    maxResult,
    parse: (text) => parseArguments(input, text, parameters),
    subject: options.subject ?? (() => ''),
    ...(staysInScratch ? { staysInScratch } : {}),
    execute: options.execute,
  };
}

const known = new WeakMap<z.ZodType, Record<string, unknown>>();

/** A JSON Schema as small as it can be: it rides on every request. Tools with the same schema share it. */
function parametersOf(schema: z.ZodType): Record<string, unknown> {
  let parameters = known.get(schema);
  if (!parameters) {
    const { $schema, additionalProperties, ...rest } = z.toJSONSchema(schema, { io: 'input' }) as Record<
      string,
      unknown
    >;
    parameters = rest;
    known.set(schema, parameters);
  }
  return parameters;
}

function parseArguments<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  parameters: Record<string, unknown>,
): ParsedArguments<z.output<Schema>> {
  const refuse = (name: string, problem: string): ParsedArguments<z.output<Schema>> => ({
    ok: false,
    problem: prompt(name, { problem, shape: JSON.stringify(parameters) }),
  });
  let value: unknown;
  try {
    value = parseArgumentsJson(text);
  } catch (error) {
    return refuse('arguments-not-json', messageOf(error));
  }
  const strict = schema.safeParse(value);
  const result = strict.success ? strict : schema.safeParse(withoutNulls(value));
  if (result.success) return { ok: true, input: result.data };
  const issues = result.error.issues.map((issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`);
  return refuse('arguments-unfit', issues.join('; '));
}

/** Some providers make models send `null` for every parameter that is not used. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== null));
}
