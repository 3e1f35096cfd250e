import type { Flags } from './command.ts';
import { settingsFlags } from './settings-flags.ts';

/** What every turn takes. */
export const turnFlags = {
  model: { type: 'string', value: 'NAME', doc: 'model to ask: provider/model, a model, or a provider' },
  'max-steps': { type: 'integer', value: 'N', doc: 'model calls of this session at most' },
  'max-tokens': { type: 'integer', value: 'N', doc: 'tokens at most, sub-agents included' },
  'max-cost': {
    type: 'number',
    value: 'AMOUNT',
    doc: 'cost at most, sub-agents included; needs prices in the configuration',
  },
  timeout: { type: 'duration', value: 'DURATION', doc: 'time at most, such as 90s or 5m' },
  'max-spawns': { type: 'integer', min: 0, value: 'N', doc: 'sub-agents started at most, at all levels' },
  'max-depth': { type: 'integer', min: 0, value: 'N', doc: 'levels of sub-agents at most; 0 for none' },
  'max-running': { type: 'integer', value: 'N', doc: 'sub-agents at work at the same time; others wait' },
  allow: {
    type: 'string',
    value: 'RULE',
    many: true,
    doc: 'run these writes without asking, such as "shell(git *)" or write_file',
  },
  yes: { type: 'boolean', short: 'y', doc: 'run every write without asking; deny rules still hold' },
  ...settingsFlags,
} as const satisfies Flags;

/** What one run takes, however it is started. */
export const onceFlags = {
  output: {
    type: 'string',
    choices: ['text', 'json', 'stream-json'],
    doc: 'text (default): the answer on stdout, progress on stderr; json: one object; stream-json: every event of the log as a line',
  },
  ...turnFlags,
} as const satisfies Flags;

export const runFlags = {
  resume: {
    type: 'string',
    value: 'REF',
    doc: 'go on with a session or sub-agent; a turn that was cut is finished first. A unique start of the id is enough',
  },
  continue: { type: 'boolean', doc: 'go on with the newest session of this folder' },
  fork: { type: 'string', value: 'REF', doc: 'go on from a copy of a session' },
  skill: { type: 'string', value: 'NAME', doc: 'run this skill with TASK as its arguments' },
  ...onceFlags,
} as const satisfies Flags;

export type RunFlags = typeof runFlags;
