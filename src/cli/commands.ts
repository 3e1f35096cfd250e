import { type Command, command } from './command.ts';
import { chatFlags, initFlags, mcpFlags, readFlags } from './command-flags.ts';
import { CONFIG_COMMANDS } from './config-commands.ts';
import { runFlags } from './run-flags.ts';
import { serveFlags } from './serve/flags.ts';
import { SESSION_COMMANDS } from './session-commands.ts';
import { SKILL_COMMANDS } from './skill-commands.ts';
import { workerFlags } from './worker/flags.ts';

/** Groups of commands; each command of one is named `<group> <verb>`. */
export const GROUPS: Readonly<Record<string, string>> = {
  skill: 'List, search, show, write, install and remove skills.',
  session: 'List, read, continue, export and remove sessions.',
  config: 'Read, explain and set the configuration.',
};

/** Every command, in the order of the help. What one does is imported when it runs. */
export const COMMANDS: readonly Command[] = [
  command({
    name: 'run',
    summary: 'Give a task to an agent and print its answer.',
    details: [
      'Without TASK it is read from stdin. "/name arguments" runs that skill. With --resume and no TASK, a turn that was cut is finished; "-" then reads a task from stdin.',
      'Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 a limit was hit, 4 no answer, 130 cancelled.',
    ],
    args: [{ name: 'TASK', kind: 'rest' }],
    flags: runFlags,
    examples: [
      'run "Where is the retry policy implemented?"',
      'run "/explore how sessions are resumed" --max-cost 0.50',
      'run --resume s_01k8 "now write it down in NOTES.md" --allow write_file',
    ],
    load: async () => (await import('./commands/run.ts')).run,
  }),
  command({
    name: 'chat',
    summary: 'Talk to an agent, one message after another.',
    details: ['/help lists the commands of a chat. Ctrl-C stops the turn; pressed twice it leaves.'],
    args: [],
    flags: chatFlags,
    examples: ['chat --continue'],
    load: async () => (await import('./commands/chat.ts')).chat,
  }),
  ...SKILL_COMMANDS,
  ...SESSION_COMMANDS,
  ...CONFIG_COMMANDS,
  command({
    name: 'doctor',
    summary: 'Check that everything a run needs is in place.',
    args: [],
    flags: readFlags,
    examples: ['doctor'],
    load: async () => (await import('./commands/doctor.ts')).doctor,
  }),
  command({
    name: 'mcp',
    summary: 'Serve the skills of a folder to other agents, as an MCP server on stdin and stdout.',
    details: [
      'Their tools are run_skill, search_skills, read_skill, list_subagents and read_result. A client starts the server itself; most take this, with the whole path where reasonix is not on their PATH:',
      '{ "mcpServers": { "reasonix": { "command": "reasonix", "args": ["mcp", "--cwd", "/my/project"] } } }',
      'A write that no rule allows is asked about where the client can put questions to its user, and refused elsewhere: name what may run with --allow. The end of stdin ends the server and cancels what still runs.',
    ],
    args: [],
    flags: mcpFlags,
    examples: ['mcp --cwd /my/project --allow "shell(npm test)"'],
    load: async () => (await import('./commands/mcp.ts')).mcp,
  }),
  command({
    name: 'serve',
    summary: 'Serve sessions over HTTP: pages, an API, events as they happen.',
    details: [
      'Prints the address with its token on stdout. Without --token and REASONIX_SERVE__TOKEN a token is made at every start. The API is described by /api/v1/openapi.json; with an engine /queues shows its queues.',
      'Nobody can be asked: writes that neither the configuration nor --allow allows are refused. Ctrl-C or SIGTERM: turns that run in this process are cancelled, those that workers run go on.',
    ],
    args: [],
    flags: serveFlags,
    examples: ['serve', 'serve --port 8080 --cwd /my/project --allow "shell(npm test)"'],
    load: async () => (await import('./commands/serve.ts')).serve,
  }),
  command({
    name: 'worker',
    summary: 'Run the sessions of all machines that share a Postgres and a Redis.',
    details: [
      'Needs store.url and engine.url, the same that whoever starts runs has. Any number of workers may run, anywhere. The configuration of its folder says which models and tools there are.',
      'On SIGTERM or Ctrl-C it takes no more, finishes the steps that go on, hands its sessions over and ends; a second one ends it at once. A worker that is killed loses nothing: others go on from the logs.',
      'Exit codes: 0 ended in peace, 1 left steps behind, or with --once sessions that cannot be run, 2 configuration.',
    ],
    args: [],
    flags: workerFlags,
    examples: ['worker --concurrency 16 --health-port 9464', 'worker --once', 'worker --tag gpu --workspace /srv/work'],
    load: async () => (await import('./commands/worker.ts')).worker,
  }),
  command({
    name: 'init',
    summary: 'Write reasonix.toml and an example skill into this folder; nothing is overwritten.',
    args: [],
    flags: initFlags,
    examples: ['init'],
    load: async () => (await import('./commands/init.ts')).init,
  }),
];
