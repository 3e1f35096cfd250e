import { type Command, command } from './command.ts';
import {
  skillLintFlags,
  skillListFlags,
  skillNewFlags,
  skillSearchFlags,
  skillShowFlags,
  skillSwitchFlags,
  skillTestFlags,
} from './command-flags.ts';
import { onceFlags } from './run-flags.ts';
import { skillInstallFlags, skillRemoveFlags, skillUpdateFlags, skillVerifyFlags } from './skill-install/flags.ts';

/** `reasonix skill …`, in the order of the help. */
export const SKILL_COMMANDS: readonly Command[] = [
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
    summary: 'Remove skills: folder, file or link, and the entry in skills.lock. Several go together or not at all.',
    args: [{ name: 'NAME', kind: 'many' }],
    flags: skillRemoveFlags,
    examples: ['skill remove release-notes', 'skill remove release-notes house-words --yes'],
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
];
