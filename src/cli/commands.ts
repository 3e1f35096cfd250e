import { type Command, command } from './command.ts';
import { onceFlags, runFlags, turnFlags } from './run-flags.ts';
import { jsonFlag, settingsFlags } from './settings-flags.ts';
import { skillInstallFlags, skillRemoveFlags, skillUpdateFlags, skillVerifyFlags } from './skill-install/flags.ts';

/** Groups of commands; each command of one is named `<group> <verb>`. */
export const GROUPS: Readonly<Record<string, string>> = {
  skill: 'List, search, show, write, install and remove skills.',
  session: 'List, read, continue, export and remove sessions.',
  config: 'Read, explain and set the configuration.',
};

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
export const sessionShowFlags = {
  full: { type: 'boolean', doc: 'do not shorten long tool results' },
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
export const sessionRemoveFlags = {
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
export const initFlags = { ...settingsFlags } as const;

const reference = { name: 'REF', kind: 'required' } as const;

/** Every command. What one does is imported when it runs. */
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
  command({
    name: 'skill list',
    summary: 'List every skill that can be run, and where it comes from.',
    args: [],
    flags: skillListFlags,
    examples: ['skill list', 'skill list --json'],
    load: async () => (await import('./commands/skill-list.ts')).skillList,
  }),
  command({
    name: 'skill search',
    summary: 'Search names, descriptions and bodies of skills, as the search_skills tool does.',
    details: ['Without flags PATTERN is words in any case: all of them, else any. An empty pattern lists everything.'],
    args: [{ name: 'PATTERN', kind: 'rest' }],
    flags: skillSearchFlags,
    examples: ['skill search security review', 'skill search -E "test(s|ing)"'],
    load: async () => (await import('./commands/skill-search.ts')).skillSearch,
  }),
  command({
    name: 'skill show',
    summary: 'Show a skill: where it is, what it may do, and its body.',
    args: [{ name: 'NAME', kind: 'required' }],
    flags: skillShowFlags,
    examples: ['skill show explore'],
    load: async () => (await import('./commands/skill-show.ts')).skillShow,
  }),
  command({
    name: 'skill paths',
    summary: 'Show the folders that skills are looked for in, strongest first.',
    args: [],
    flags: skillShowFlags,
    examples: ['skill paths'],
    load: async () => (await import('./commands/skill-paths.ts')).skillPaths,
  }),
  command({
    name: 'skill new',
    summary: 'Write the start of a new skill.',
    args: [{ name: 'NAME', kind: 'required' }],
    flags: skillNewFlags,
    examples: [
      'skill new release-notes --run-as subagent --description "Write the notes of a release from its commits."',
    ],
    load: async () => (await import('./commands/skill-new.ts')).skillNew,
  }),
  command({
    name: 'skill lint',
    summary: 'Check skills: what is odd about them here, and what other programs would refuse.',
    details: [
      'PATH is the folder of a skill, a SKILL.md, a flat .md file, or a folder of skills. Without PATH: the skills of the project, the configured paths and the user.',
      'Of more than 20 files only errors and warnings are shown; --json has the notes too.',
      'Exit codes: 0 no errors, 1 errors (with --strict: any problem).',
    ],
    args: [{ name: 'PATH...', kind: 'rest' }],
    flags: skillLintFlags,
    examples: ['skill lint', 'skill lint .claude/skills/review --strict', 'skill lint skills --fix'],
    load: async () => (await import('./commands/skill-lint.ts')).skillLint,
  }),
  command({
    name: 'skill install',
    summary: 'Install skills from a folder, an archive, a repository or a package.',
    details: [
      'SOURCE is a folder; a .zip, .tar or .tar.gz, as a file or an https URL; a git URL (https, ssh, file) or owner/repo[/path][@ref] of GitHub; or npm:name[@range]. URL#path names a folder inside it. All skills of the source are installed, unless --skill chooses.',
      'The plan is shown first: what goes where, its size, scripts, invisible characters, what it may do, and on an update what changes. Without --yes you are asked; where nobody can be asked, only the plan is printed and the exit code is 2. Links are never installed. What was installed is written to skills.lock.',
    ],
    args: [{ name: 'SOURCE', kind: 'required' }],
    flags: skillInstallFlags,
    examples: [
      'skill install anthropics/skills/skills/pdf',
      'skill install https://example.org/team-skills.git --ref v2 --skill release-notes --scope user',
      'skill install ./skills.zip --yes',
    ],
    load: async () => (await import('./commands/skill-install.ts')).skillInstall,
  }),
  command({
    name: 'skill update',
    summary: 'Fetch installed skills again, show what changed, and install that.',
    details: [
      'Each comes from the source and the branch, tag or range that skills.lock names. Exit code 1 when some could not be fetched.',
    ],
    args: [{ name: 'NAME', kind: 'optional' }],
    flags: skillUpdateFlags,
    examples: ['skill update', 'skill update release-notes --yes'],
    load: async () => (await import('./commands/skill-update.ts')).skillUpdate,
  }),
  command({
    name: 'skill verify',
    summary: 'Compare installed skills with skills.lock, file by file; exit code 1 when one differs.',
    args: [],
    flags: skillVerifyFlags,
    examples: ['skill verify --scope project'],
    load: async () => (await import('./commands/skill-verify.ts')).skillVerify,
  }),
  command({
    name: 'skill remove',
    summary: 'Remove a skill: its folder, file or link, and its entry in skills.lock.',
    args: [{ name: 'NAME', kind: 'required' }],
    flags: skillRemoveFlags,
    examples: ['skill remove release-notes'],
    load: async () => (await import('./commands/skill-remove.ts')).skillRemove,
  }),
  command({
    name: 'skill enable',
    summary: 'Take a skill off the list of disabled ones.',
    args: [{ name: 'NAME', kind: 'required' }],
    flags: skillSwitchFlags,
    examples: ['skill enable review'],
    load: async () => (await import('./commands/skill-switch.ts')).skillEnable,
  }),
  command({
    name: 'skill disable',
    summary: 'Keep a skill from being listed and run.',
    args: [{ name: 'NAME', kind: 'required' }],
    flags: skillSwitchFlags,
    examples: ['skill disable review --scope user'],
    load: async () => (await import('./commands/skill-switch.ts')).skillDisable,
  }),
  command({
    name: 'skill run',
    summary: 'Run a skill, as "run --skill NAME" does.',
    args: [
      { name: 'NAME', kind: 'required' },
      { name: 'TASK', kind: 'rest' },
    ],
    flags: onceFlags,
    examples: ['skill run explore "How are leases renewed?"'],
    load: async () => (await import('./commands/run.ts')).skillRun,
  }),
  command({
    name: 'skill test',
    summary: 'Run the cases of a skill, with it and without it, and grade the answers.',
    details: [
      'The cases are in evals/evals.json of the folder of the skill. Each run has a folder of its own and asks nobody: allow what it should write.',
      'Exit codes: 0 every graded case passed, 1 one failed or none could be graded, 2 usage or configuration, 130 cancelled.',
    ],
    args: [{ name: 'NAME', kind: 'required' }],
    flags: skillTestFlags,
    examples: ['skill test release-notes', 'skill test release-notes --case 2 --no-baseline --yes'],
    load: async () => (await import('./commands/skill-test.ts')).skillTest,
  }),
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
    summary: 'Show the messages of a session or sub-agent.',
    args: [reference],
    flags: sessionShowFlags,
    examples: ['session show s_01k8', 'session show s_01k8 --json'],
    load: async () => (await import('./commands/session-show.ts')).sessionShow,
  }),
  command({
    name: 'session tree',
    summary: 'Show a session with all its sub-agents.',
    args: [reference],
    flags: readFlags,
    examples: ['session tree s_01k8'],
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
    name: 'session rm',
    summary: 'Remove sessions and all their sub-agents.',
    args: [{ name: 'REF', kind: 'many' }],
    flags: sessionRemoveFlags,
    examples: ['session rm s_01k8 --yes'],
    load: async () => (await import('./commands/session-rm.ts')).sessionRemove,
  }),
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
    name: 'doctor',
    summary: 'Check that everything a run needs is in place.',
    args: [],
    flags: readFlags,
    examples: ['doctor'],
    load: async () => (await import('./commands/doctor.ts')).doctor,
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
