import type { Flags } from './command.ts';

/** Every command that reads the configuration takes these. */
export const settingsFlags = {
  env: {
    type: 'string',
    short: 'e',
    value: 'KEY=VALUE',
    many: true,
    doc: 'set a configuration key; wins over every file',
  },
  cwd: { type: 'string', value: 'FOLDER', doc: 'work in this folder instead of the current one' },
  config: { type: 'string', value: 'FILE', doc: "read this TOML file instead of the project's" },
  profile: { type: 'string', value: 'NAME', doc: 'lay this profile over the files; off for none' },
} as const satisfies Flags;

export const jsonFlag = { json: { type: 'boolean', doc: 'print JSON' } } as const satisfies Flags;
