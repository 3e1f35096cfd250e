import { resolve } from 'node:path';
import type { LoadedConfig } from '../../config/cascade.ts';
import type { PermissionsConfig } from '../../config/config.ts';
import { ReasonixError } from '../../core/errors.ts';
import { allows, denies, parseToolRules } from '../../core/tool-rules.ts';
import { openRuntime } from '../../runtime/open-runtime.ts';
import type { RuntimeOptions } from '../../runtime/options.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type EvalCase, readEvals } from '../../runtime/skill-test/evals.ts';
import { PublishedFiles } from '../../runtime/skill-test/published-files.ts';
import { type FinishedRun, type SkillTestReport, testSkill } from '../../runtime/skill-test/test-skill.ts';
import type { Skill } from '../../skills/types.ts';
import type { SessionStore } from '../../store/contract.ts';
import type { FlagValues, Handler } from '../command.ts';
import type { skillTestFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { plural, shortTime } from '../format.ts';
import { note, print, printJson } from '../output.ts';
import { Interrupt } from '../run/interrupt.ts';
import { noteProblem, openStore } from '../session/open-store.ts';
import { loadOptions } from '../settings.ts';
import { stateOf, testJson, testLines } from '../skill-test-view.ts';
import { findSkill, loadSkills } from '../skills.ts';
import { paintFor, printableLine } from '../terminal.ts';

type Given = FlagValues<typeof skillTestFlags>;

export const skillTest: Handler<typeof skillTestFlags> = async ({ flags, args }) => {
  const { loaded, library } = await loadSkills(flags);
  const skill = findSkill(library, args[0]!);
  const { cases: all, problems } = await readEvals(skill);
  for (const problem of problems) noteProblem(problem);
  const cases = chosenCases(all, flags.case, skill);
  checkCommands(cases, loaded.config.permissions, flags);
  const store = await openStore(loaded);
  try {
    const report = await runTests(flags, { loaded, skill, cases, store });
    if (flags.json) printJson(testJson(report));
    else for (const line of testLines(report, paintFor(process.stdout))) print(line);
    note(conclusion(report));
    return report.failed === 0 && report.passed > 0 ? EXIT.done : EXIT.failed;
  } finally {
    await store.close();
  }
};

interface Test {
  loaded: LoadedConfig;
  skill: Skill;
  cases: readonly EvalCase[];
  store: SessionStore;
}

async function runTests(flags: Given, { loaded, skill, cases, store }: Test): Promise<SkillTestReport> {
  const files = flags.out === undefined ? undefined : new PublishedFiles(resolve(flags.out), cases);
  const interrupt = new Interrupt(() => note('stopping; press Ctrl-C again to leave at once'));
  const open: Runtime[] = [];
  try {
    const shared = { ...runtimeOptions(flags, loaded), store };
    const own = await openRuntime(shared);
    open.push(own);
    let without: Runtime | undefined;
    if (!flags['no-baseline']) {
      const disabled = JSON.stringify([...loaded.config.skills.disabled_skills, skill.name]);
      without = await openRuntime({ ...shared, overrides: [...flags.env, `skills.disabled_skills=${disabled}`] });
      open.push(without);
    }
    const report = await testSkill({
      skill,
      cases,
      runtimes: { with: own, without },
      signal: interrupt.signal,
      onRun: async (run) => {
        note(progress(run));
        await files?.addRun(run);
      },
    });
    await files?.addReport(report);
    return report;
  } finally {
    for (const runtime of open) await runtime.close();
    interrupt.close();
  }
}

function runtimeOptions(flags: Given, { folders }: LoadedConfig): RuntimeOptions {
  return {
    ...loadOptions(flags),
    overrides: flags.env,
    skillsFrom: folders.cwd,
    model: flags.model,
    limits: { steps: flags['max-steps'], cost: flags['max-cost'], time: flags.timeout },
    allow: flags.allow,
    yes: flags.yes,
    onProblem: noteProblem,
  };
}

function chosenCases(all: readonly EvalCase[], wanted: readonly string[], skill: Skill): readonly EvalCase[] {
  const unknown = wanted.find((id) => !all.some((each) => each.id === id));
  if (unknown !== undefined) {
    throw new ReasonixError('usage', `${skill.name} has no case ${JSON.stringify(unknown)}`, {
      hint: `its cases: ${all.map(({ id }) => id).join(', ')}`,
    });
  }
  return wanted.length === 0 ? all : all.filter(({ id }) => wanted.includes(id));
}

/** Commands of a test come with the skill, from whoever wrote it: they run by the rules that hold for the shell. */
function checkCommands(cases: readonly EvalCase[], config: PermissionsConfig, { allow, yes }: Given): void {
  const rules = { allow: parseToolRules([...config.allow, ...allow]).rules, deny: parseToolRules(config.deny).rules };
  const isOpen = yes || config.mode === 'allow';
  const commands = new Set(cases.flatMap(({ assertions }) => assertions.flatMap(({ command }) => command ?? [])));
  const refused = [...commands].filter(
    (command) => denies(rules.deny, 'shell', command) || !(isOpen || allows(rules.allow, 'shell', command)),
  );
  if (refused.length === 0) return;
  const lines = refused.map((command) => printableLine(command));
  throw new ReasonixError('usage', `the assertions run commands that nothing allows yet:\n${lines.join('\n')}`, {
    hint: 'read them, then allow them with --allow "shell(…)" or --yes; rules of permissions.deny hold in any case',
  });
}

function progress({ case: { id }, variant, run, done, total }: FinishedRun): string {
  const state = `${stateOf(run)} (${shortTime(run.ms)}, ${plural(run.tokens, 'token')})`;
  return paintFor(process.stderr)('dim', `[${done}/${total}] ${printableLine(id)} ${variant} the skill: ${state}`);
}

function conclusion({ passed, failed, notGraded }: SkillTestReport): string {
  const left = notGraded > 0 ? `, ${notGraded} not graded` : '';
  const nothing = passed + failed === 0 ? ': add assertions, so that something can pass' : '';
  return `${passed} passed, ${failed} failed${left}${nothing}`;
}
