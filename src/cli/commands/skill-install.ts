import { applyInstall, type InstallPlan, isPending, planInstall } from '../../skills/install/install.ts';
import type { Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';
import { note, print, printJson } from '../output.ts';
import { canAsk } from '../run/approve.ts';
import { loadSettings, workingFolder } from '../settings.ts';
import { confirmed, contextFor, interruptible, placeOf } from '../skill-install/context.ts';
import type { skillInstallFlags } from '../skill-install/flags.ts';
import { planJson, planLines } from '../skill-install/plan-view.ts';
import { paintFor, printableLine } from '../terminal.ts';

export const skillInstall: Handler<typeof skillInstallFlags> = ({ flags, args }) =>
  interruptible(async (signal) => {
    const loaded = await loadSettings(flags);
    const context = { ...(await contextFor(loaded, flags, signal)), place: placeOf(flags.scope ?? 'project', loaded) };
    const request = { source: args[0]!, cwd: workingFolder(flags), ref: flags.ref, skills: flags.skill };
    const plan = await planInstall(request, context);
    if (!(await isPending(plan))) {
      if (flags.json) printJson(planJson(plan, false));
      else print(`${plural(plan.skills.length, 'skill')} installed already, nothing changes`);
      return EXIT.done;
    }
    return applyWhenConfirmed([plan], flags, signal, 'install');
  });

/** Shows plans, asks, applies them and says what was done. */
export async function applyWhenConfirmed(
  plans: readonly InstallPlan[],
  flags: { yes?: boolean; json?: boolean },
  signal: AbortSignal,
  verb: 'install' | 'update',
): Promise<number> {
  const count = plans.reduce((sum, { skills }) => sum + skills.length, 0);
  const asJson = (applied: boolean): unknown => {
    const all = plans.map((plan) => planJson(plan, applied));
    return verb === 'install' ? all[0] : { applied, plans: all };
  };
  if (!flags.json) {
    // where nobody is asked and nothing done, the plan is what the command was for
    const isData = !flags.yes && !canAsk();
    const paint = paintFor(isData ? process.stdout : process.stderr);
    for (const plan of plans) for (const line of planLines(plan, paint)) (isData ? print : note)(line);
  }
  let isYes: boolean;
  try {
    isYes = await confirmed(
      `${verb === 'install' ? 'Install' : 'Update'} ${plural(count, 'skill')}?`,
      flags.yes,
      signal,
    );
  } catch (error) {
    // whoever asked for JSON gets the plan in the place of the error, which goes to stderr
    if (!flags.json || signal.aborted) throw error;
    printJson(asJson(false));
    note('nothing was changed: add --yes to do it');
    return EXIT.usage;
  }
  if (!isYes) {
    if (flags.json) printJson(asJson(false));
    note('nothing was changed');
    return EXIT.failed;
  }
  for (const plan of plans) await applyInstall(plan, signal);
  if (flags.json) printJson(asJson(true));
  else {
    for (const { place, skills } of plans) {
      for (const { name, path, action } of skills) {
        if (action !== 'keep') print(`${printableLine(name)}  ${printableLine(`${place.folder}/${path}`)}`);
      }
    }
  }
  return plans.some(({ lost }) => lost.length > 0) ? EXIT.failed : EXIT.done;
}
