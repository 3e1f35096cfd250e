import { type Command, command } from './command.ts';
import { configSetFlags, configTrustFlags, readFlags } from './command-flags.ts';

/** `reasonix config …`, in the order of the help. */
export const CONFIG_COMMANDS: readonly Command[] = [
  command({
    name: 'config get',
    summary: 'Print the value of a key, or of a section, and where it comes from.',
    args: [{ name: 'KEY', kind: 'required' }],
    flags: readFlags,
    examples: ['config get skills.lazy --json'],
    load: async () => (await import('./commands/config-read.ts')).configGet,
  }),
  command({
    name: 'config list',
    summary: 'Print every key with its value and where that comes from.',
    args: [],
    flags: readFlags,
    examples: ['config list'],
    load: async () => (await import('./commands/config-read.ts')).configList,
  }),
  command({
    name: 'config explain',
    summary: 'Explain a key: what it does, what it takes, and what every place says about it.',
    args: [{ name: 'KEY', kind: 'required' }],
    flags: readFlags,
    examples: ['config explain skills.lazy'],
    load: async () => (await import('./commands/config-read.ts')).configExplain,
  }),
  command({
    name: 'config set',
    summary: 'Write a key into the TOML file of the project or the user; an empty value removes it.',
    args: [
      { name: 'KEY', kind: 'required' },
      { name: 'VALUE', kind: 'required' },
    ],
    flags: configSetFlags,
    examples: ['config set skills.lazy true', 'config set agent.max_cost 2.50 --scope user'],
    load: async () => (await import('./commands/config-set.ts')).configSet,
  }),
  command({
    name: 'config trust',
    summary:
      'Allow the MCP servers, hooks and addresses (of providers and the store) that the files of this project name, after showing them.',
    args: [],
    flags: configTrustFlags,
    examples: ['config trust', 'config trust --json'],
    load: async () => (await import('./commands/config-trust.ts')).configTrust,
  }),
];
