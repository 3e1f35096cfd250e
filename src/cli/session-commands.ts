import { type Command, command } from './command.ts';
import {
  sessionApplyFlags,
  sessionExportFlags,
  sessionGcFlags,
  sessionListFlags,
  sessionRemoveFlags,
  sessionShowFlags,
  sessionTreeFlags,
} from './command-flags.ts';
import { onceFlags } from './run-flags.ts';

const reference = { name: 'REF', kind: 'required' } as const;

/** `reasonix session …`, in the order of the help. */
export const SESSION_COMMANDS: readonly Command[] = [
  command({
    name: 'session list',
    summary: 'List the sessions of this folder, newest first.',
    args: [],
    flags: sessionListFlags,
    examples: ['session list --all'],
    load: async () => (await import('./commands/session-list.ts')).sessionList,
  }),
  command({
    name: 'session show',
    summary: 'Show the messages of a session or sub-agent, or with --log every event of its log.',
    args: [reference],
    flags: sessionShowFlags,
    examples: [
      'session show s_01k8',
      'session show sa_01k8 --log',
      'session show s_01k8 --usage',
      'session show s_01k8 --json',
    ],
    load: async () => (await import('./commands/session-show.ts')).sessionShow,
  }),
  command({
    name: 'session tree',
    summary: 'Show a session with all its sub-agents: what each does or how it ended, and what it used.',
    details: [
      'With --follow it stays until the turn has ended, also when another process runs it: on a terminal the tree is drawn over itself, in a pipe each event that matters is a line; with --json every event of the log is one, as "run --output stream-json" prints it. Ctrl-C leaves (exit code 130); the run goes on.',
    ],
    args: [reference],
    flags: sessionTreeFlags,
    examples: ['session tree s_01k8', 'session tree s_01k8 --follow', 'session tree sa_01k8 --json'],
    load: async () => (await import('./commands/session-tree.ts')).sessionTree,
  }),
  command({
    name: 'session resume',
    summary: 'Finish a turn that was cut, then send TASK if there is one; as "run --resume REF".',
    args: [reference, { name: 'TASK', kind: 'rest' }],
    flags: onceFlags,
    examples: ['session resume s_01k8', 'session resume sa_01k8 "And what about Windows?"'],
    load: async () => (await import('./commands/run.ts')).sessionResume,
  }),
  command({
    name: 'session fork',
    summary: 'Copy a session and print the id of the copy; with TASK, go on from there as "run --fork REF".',
    args: [reference, { name: 'TASK', kind: 'rest' }],
    flags: onceFlags,
    examples: ['session fork s_01k8 "Try it with a queue instead"'],
    load: async () => (await import('./commands/run.ts')).sessionFork,
  }),
  command({
    name: 'session export',
    summary: 'Write a session as markdown, HTML or JSON lines.',
    args: [reference],
    flags: sessionExportFlags,
    examples: ['session export s_01k8 --format html --tree -o run.html'],
    load: async () => (await import('./commands/session-export.ts')).sessionExport,
  }),
  command({
    name: 'session apply',
    summary: 'Take over what a sub-agent with a git worktree of its own has changed, all of it or nothing.',
    details: [
      'The changes go into the folder that the sub-agent was called from. Conflicts are named, and nothing is changed.',
    ],
    args: [reference],
    flags: sessionApplyFlags,
    examples: ['session apply sa_01k8', 'session apply sa_01k8 --discard'],
    load: async () => (await import('./commands/session-apply.ts')).sessionApply,
  }),
  command({
    name: 'session rm',
    summary: 'Remove sessions and all their sub-agents.',
    args: [{ name: 'REF', kind: 'many' }],
    flags: sessionRemoveFlags,
    examples: ['session rm s_01k8 --yes'],
    load: async () => (await import('./commands/session-rm.ts')).sessionRemove,
  }),
  command({
    name: 'session gc',
    summary: 'Remove sessions that nobody has touched for long, with all their sub-agents.',
    args: [],
    flags: sessionGcFlags,
    examples: ['session gc --dry-run', 'session gc --older-than 30d --yes'],
    load: async () => (await import('./commands/session-gc.ts')).sessionGc,
  }),
];
