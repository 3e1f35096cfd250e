import { z } from 'zod';

// What several events hold.

// Making a schema is the slow part of it, and these are made at every start: many fields share one.
export const text = z.string();
export const number = z.number();
export const texts = z.array(text);
export const optionalText = text.optional();
export const optionalNumber = number.optional();
export const optionalFlag = z.boolean().optional();

export const usage = z.object({
  input: number,
  output: number,
  cache_read: number,
  cache_write: number,
  reasoning: number,
});

export const limits = z.object({
  steps: optionalNumber,
  tokens: optionalNumber,
  cost: optionalNumber,
  time: optionalNumber,
  spawns: optionalNumber,
  depth: optionalNumber,
});

export const toolDefinition = z.object({
  name: text,
  description: text,
  parameters: z.record(text, z.unknown()),
});

/** Where a child, or a message to it, comes from: the session and the tool call that asked. */
export const caller = z.object({ session: text, call: text });

export const limitHit = z.object({
  which: z.enum(['steps', 'tokens', 'cost', 'time', 'spawns', 'depth']),
  limit: number,
  setBy: text,
});

export const narrowed = z.object({ grants: z.array(texts), deny: texts, readOnly: z.boolean() });

/** A session above one that runs, and what its turn may spend: all levels below it spend it together. */
const level = z.object({
  session: text,
  /** Sequence number of the message that began its turn, and when that was (epoch, milliseconds). */
  turn: number,
  since: number,
  limits,
  /** Who set each limit. */
  setBy: z.record(text, text),
});

/** What a process needs to know to run a turn that another one has begun. */
export const terms = z.object({
  limits,
  setBy: z.record(text, text),
  /** Outermost first. */
  above: z.array(level),
  /** Rules that the person who began the root's turn allowed, on top of the configuration's. */
  allow: texts.optional(),
  /** That person lets writes run without asking. */
  yes: optionalFlag,
  /** Asked in this turn in place of the session's own. */
  model: z.object({ provider: text, name: text }).optional(),
});
