import { runFlags, turnFlags } from './run-flags.ts';
import { jsonFlag, settingsFlags } from './settings-flags.ts';

export const skillListFlags = {
  ...jsonFlag,
  explain: { type: 'boolean', doc: 'say of every skill whether models see it listed, and why not' },
  ...settingsFlags,
} as const;
export const skillSearchFlags = {
  'ignore-case': { type: 'boolean', short: 'i', doc: 'ignore case (this is the default)' },
  regexp: { type: 'boolean', short: 'E', doc: 'PATTERN is a regular expression' },
  word: { type: 'boolean', short: 'w', doc: 'match whole words' },
  limit: { type: 'integer', value: 'N', doc: 'show at most N skills (default 128)' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const skillShowFlags = { ...jsonFlag, ...settingsFlags } as const;
export const skillNewFlags = {
  scope: { type: 'string', choices: ['project', 'user'], doc: 'where to write it (default project)' },
  'run-as': {
    type: 'string',
    choices: ['inline', 'subagent'],
    doc: "in the caller's session, or in one of its own (default inline)",
  },
  description: { type: 'string', value: 'TEXT', doc: 'one line that tells a model when to use it' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const skillLintFlags = {
  strict: { type: 'boolean', doc: 'only the rules of the Agent Skills specification, all of them errors' },
  fix: { type: 'boolean', doc: 'repair the quoting of values, and names; bodies stay as they are' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const skillSwitchFlags = {
  scope: { type: 'string', choices: ['project', 'user'], doc: 'whose configuration to change (default project)' },
  ...settingsFlags,
} as const;
export const skillTestFlags = {
  case: { type: 'string', value: 'ID', many: true, doc: 'run this case only; may be given more than once' },
  'no-baseline': { type: 'boolean', doc: 'do not run the cases without the skill too' },
  out: { type: 'string', value: 'FOLDER', doc: 'write outputs, timing.json, grading.json and benchmark.json there' },
  model: turnFlags.model,
  'max-steps': { ...turnFlags['max-steps'], doc: 'model calls of each run at most' },
  'max-cost': { ...turnFlags['max-cost'], doc: 'cost of each run at most; needs prices in the configuration' },
  timeout: { ...turnFlags.timeout, doc: 'time of each run at most, such as 90s or 5m' },
  allow: turnFlags.allow,
  yes: turnFlags.yes,
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const sessionListFlags = {
  all: { type: 'boolean', doc: 'of every folder, and sub-agents too' },
  limit: { type: 'integer', value: 'N', doc: 'show at most N sessions (default 50)' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const sessionTreeFlags = {
  follow: { type: 'boolean', short: 'f', doc: 'stay, and show what happens until its turn has ended' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const sessionShowFlags = {
  log: { type: 'boolean', doc: 'every event of the log instead, a line each' },
  full: { type: 'boolean', doc: 'do not shorten long tool results; with --usage, a line a step' },
  usage: {
    type: 'boolean',
    doc: 'tokens and cost: cache reads and writes, their share, and what lost a cached prefix',
  },
  context: { type: 'boolean', doc: 'what the model would be sent now, in tokens, and what was compacted' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const sessionExportFlags = {
  format: {
    type: 'string',
    choices: ['md', 'html', 'jsonl'],
    doc: 'markdown (default), one HTML page, or the events as JSON lines',
  },
  file: { type: 'string', short: 'o', value: 'FILE', doc: 'write to this file instead of stdout' },
  tree: { type: 'boolean', doc: 'with all sub-agents' },
  ...settingsFlags,
} as const;
export const sessionApplyFlags = {
  discard: { type: 'boolean', doc: 'drop the changes instead' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const sessionRemoveFlags = {
  interrupted: { type: 'boolean', doc: 'those that workers would still go on with, too' },
  yes: { type: 'boolean', short: 'y', doc: 'do not ask' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const sessionGcFlags = {
  'older-than': { type: 'duration', value: 'DURATION', doc: 'untouched for this long, such as 30d (default 90d)' },
  interrupted: { type: 'boolean', doc: 'those whose last turn was cut, too: they could still be finished' },
  'dry-run': { type: 'boolean', doc: 'say what would be removed' },
  yes: { type: 'boolean', short: 'y', doc: 'do not ask' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const configSetFlags = {
  scope: { type: 'string', choices: ['project', 'user'], doc: 'whose file to write (default project)' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const readFlags = { ...jsonFlag, ...settingsFlags } as const;
export const chatFlags = {
  resume: runFlags.resume,
  continue: runFlags.continue,
  ...turnFlags,
} as const;
export const mcpFlags = {
  model: turnFlags.model,
  'max-tokens': { ...turnFlags['max-tokens'], doc: 'tokens of each call at most' },
  'max-cost': { ...turnFlags['max-cost'], doc: 'cost of each call at most; needs prices in the configuration' },
  timeout: { ...turnFlags.timeout, doc: 'time of each call at most, such as 90s or 5m' },
  'max-spawns': { ...turnFlags['max-spawns'], doc: 'sub-agents of each call at most, at all levels' },
  'max-depth': turnFlags['max-depth'],
  'max-running': turnFlags['max-running'],
  allow: turnFlags.allow,
  yes: turnFlags.yes,
  ...settingsFlags,
} as const;
export const configTrustFlags = {
  yes: { type: 'boolean', short: 'y', doc: 'do not ask' },
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const initFlags = { ...settingsFlags } as const;
