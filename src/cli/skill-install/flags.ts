import { jsonFlag, settingsFlags } from '../settings-flags.ts';

const yes = { type: 'boolean', short: 'y', doc: 'do it without asking' } as const;
const installed = {
  type: 'string',
  choices: ['project', 'user'],
  doc: 'only what is installed there (default both)',
} as const;
const force = { type: 'boolean', doc: 'also over skills that were not installed, or were edited since' } as const;
const allowPrivate = {
  type: 'boolean',
  doc: 'fetch archives from loopback and private addresses too, and over plain http there',
} as const;

export const skillInstallFlags = {
  scope: { type: 'string', choices: ['project', 'user'], doc: 'where to install (default project)' },
  skill: { type: 'string', value: 'NAME', many: true, doc: 'only this skill of the source; may be repeated' },
  ref: { type: 'string', value: 'REV', doc: 'branch, tag or full commit of a repository' },
  yes,
  force,
  'allow-private': allowPrivate,
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const skillUpdateFlags = {
  scope: installed,
  yes,
  force,
  'allow-private': allowPrivate,
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const skillVerifyFlags = {
  scope: installed,
  ...jsonFlag,
  ...settingsFlags,
} as const;
export const skillRemoveFlags = {
  scope: { type: 'string', choices: ['project', 'user'], doc: 'only from there' },
  yes,
  ...jsonFlag,
  ...settingsFlags,
} as const;
