import { z } from 'zod';
import type { Usage } from '../core/usage.ts';

/** `=text` is the whole text, `/…/flags` a regular expression; a list is any of its members. */
export type TextCondition = string | readonly string[];
/** A number, `>3`, `>=3`, `<3`, `<=3` or `2..5`; a list is any of its members. */
export type NumberCondition = number | string | readonly (number | string)[];

/** All conditions that are given must hold. */
export interface ScriptedConditions {
  /** The skill of the session: its whole name, or `null` for a session without one. */
  skill?: TextCondition | null | undefined;
  /** Part of the system prompt. */
  system?: TextCondition | undefined;
  /** Part of the newest message that began a turn: of a user, a task or a continuation. */
  user?: TextCondition | undefined;
  /** Part of the newest message of any origin, when no answer followed it yet. */
  message?: TextCondition | undefined;
  /** Origin of a message since the newest answer: `user`, `task`, `continuation`, `nudge`, `notice`. */
  origin?: TextCondition | undefined;
  /** Part of the newest tool result, when no answer followed it yet. */
  last_result?: TextCondition | undefined;
  /** Whole name of the tool of that result. */
  tool?: TextCondition | undefined;
  /** Which model call of the session this is, from 1. */
  step?: NumberCondition | undefined;
  /** Which turn of the session this is, from 1. */
  turn?: NumberCondition | undefined;
  /** Which model call of the turn this is, from 1. */
  turn_step?: NumberCondition | undefined;
  /** A root session or a child. */
  kind?: 'root' | 'child' | undefined;
  /** `none` in the last call after a limit, which must not ask for tools. */
  tool_choice?: 'auto' | 'none' | undefined;
  /** Part of the model's name. */
  model?: TextCondition | undefined;
}

/** A call that the answer asks for. */
export interface ScriptedCall {
  name: string;
  /** An object whose texts are templates, or a text that is sent as it is rendered, JSON or not. */
  arguments?: Record<string, unknown> | string | undefined;
  /** Default: made from the step and the position. */
  id?: string | undefined;
  /** A template: one call for each line or list item, which `{{item}}` and `{{index}}` name. */
  for_each?: string | undefined;
}

/**
 * A failure in place of the answer, `times` often (default once), counted over the life of the model
 * object: a failed attempt leaves no trace in a log.
 */
export interface ScriptedFault {
  /** The HTTP status that a server would have answered with. */
  status?: number | undefined;
  /** Seconds, with `status`. */
  retry_after?: number | undefined;
  message?: string | undefined;
  /** Break the stream after so many characters of the text. */
  cut_after?: number | undefined;
  /** Send nothing until the call is given up. */
  hang?: boolean | undefined;
  /** Fail to connect. */
  network?: boolean | undefined;
  times?: number | 'always' | undefined;
}

export interface ScriptedReply {
  text?: string | undefined;
  reasoning?: string | undefined;
  calls?: readonly ScriptedCall[] | undefined;
  /** What is not given is estimated: characters / 4. */
  usage?: { [Kind in keyof Usage]?: number | undefined } | undefined;
  /** Finish reason; default `tool_calls` with calls, else `stop`. */
  finish?: string | undefined;
  /** Milliseconds before anything is sent. */
  latency?: number | undefined;
  /** Stream the text in so many pieces, or in pieces of `size` characters with `delay` ms between. */
  chunks?: number | { size?: number | undefined; delay?: number | undefined } | undefined;
  faults?: ScriptedFault | readonly ScriptedFault[] | undefined;
}

export interface ScriptedRule extends ScriptedReply {
  /** For error texts, and to count how often the rule answered. Default: its number. */
  name?: string | undefined;
  when?: ScriptedConditions | undefined;
  /** Answer once a session. */
  once?: boolean | undefined;
  /** Answer so often a session. */
  times?: number | undefined;
}

/** Made at the first use: few of those who import the library have a script. */
let schemas: ReturnType<typeof makeSchemas> | undefined;

function madeSchemas() {
  schemas ??= makeSchemas();
  return schemas;
}

/** What a function may answer. Its texts are sent as they are: no templates. */
export const replySchema = () => madeSchemas().reply;

/** A script: its rules, tried in order. */
export const scriptSchema = () => madeSchemas().script;

function makeSchemas() {
  const textCondition = z.union([z.string(), z.array(z.string()).min(1)]);
  const numberCondition = z.union([z.number(), z.string(), z.array(z.union([z.number(), z.string()])).min(1)]);
  const count = z.number().int().min(0);

  const conditions = z.strictObject({
    skill: textCondition.nullable().optional(),
    system: textCondition.optional(),
    user: textCondition.optional(),
    message: textCondition.optional(),
    origin: textCondition.optional(),
    last_result: textCondition.optional(),
    tool: textCondition.optional(),
    step: numberCondition.optional(),
    turn: numberCondition.optional(),
    turn_step: numberCondition.optional(),
    kind: z.enum(['root', 'child']).optional(),
    tool_choice: z.enum(['auto', 'none']).optional(),
    model: textCondition.optional(),
  });

  const call = z.strictObject({
    name: z.string(),
    arguments: z.union([z.record(z.string(), z.unknown()), z.string()]).optional(),
    id: z.string().optional(),
    for_each: z.string().optional(),
  });

  const fault = z
    .strictObject({
      status: z.number().int().min(400).max(599).optional(),
      retry_after: z.number().min(0).optional(),
      message: z.string().optional(),
      cut_after: count.optional(),
      hang: z.boolean().optional(),
      network: z.boolean().optional(),
      times: z.union([count, z.literal('always')]).optional(),
    })
    .refine(({ status, cut_after, hang, network }) => status ?? cut_after ?? hang ?? network, {
      message: 'a fault is one of status, cut_after, hang, network',
    });

  const replyShape = {
    text: z.string().optional(),
    reasoning: z.string().optional(),
    calls: z.array(call).optional(),
    usage: z
      .strictObject({ input: count, output: count, cache_read: count, cache_write: count, reasoning: count })
      .partial()
      .optional(),
    finish: z.string().optional(),
    latency: z.number().min(0).optional(),
    chunks: z
      .union([
        z.number().int().min(1),
        z.strictObject({ size: z.number().int().min(1).optional(), delay: z.number().min(0).optional() }),
      ])
      .optional(),
    faults: z.union([fault, z.array(fault)]).optional(),
  };

  const reply = z.strictObject(replyShape);

  const rule = z.strictObject({
    name: z.string().optional(),
    when: conditions.optional(),
    once: z.boolean().optional(),
    times: count.optional(),
    ...replyShape,
  });

  const script = z.strictObject({ rules: z.array(rule).min(1) });

  return { reply, script };
}
