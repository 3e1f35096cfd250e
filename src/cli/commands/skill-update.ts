import { ReasonixError } from '../../core/errors.ts';
import { type InstallPlan, isPending, notInstalled, planUpdate } from '../../skills/install/install.ts';
import { loadLock } from '../../skills/install/lock-file.ts';
import type { Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';
import { note, print, printJson } from '../output.ts';
import { loadSettings } from '../settings.ts';
import { contextFor, interruptible, placesOf } from '../skill-install/context.ts';
import type { skillUpdateFlags } from '../skill-install/flags.ts';
import { planJson, planLines } from '../skill-install/plan-view.ts';
import { paintFor } from '../terminal.ts';
import { applyWhenConfirmed } from './skill-install.ts';

export const skillUpdate: Handler<typeof skillUpdateFlags> = ({ flags, args }) =>
  interruptible(async (signal) => {
    const [name] = args;
    const loaded = await loadSettings(flags);
    const context = await contextFor(loaded, flags, signal);
    const plans: InstallPlan[] = [];
    const pending: InstallPlan[] = [];
    const names = new Map<string, never>();
    for (const place of placesOf(flags.scope, loaded)) {
      const locked = await loadLock(place.folder);
      for (const each of locked.keys()) names.set(each, undefined as never);
      if (name === undefined ? locked.size === 0 : !locked.has(name)) continue;
      const plan = await planUpdate(name, { ...context, place });
      plans.push(plan);
      if (await isPending(plan)) pending.push(plan);
    }
    if (name !== undefined && plans.length === 0) throw notInstalled(name, names);
    if (plans.length === 0) {
      throw new ReasonixError('skill_not_found', 'no skills are installed here', {
        hint: 'install some: reasonix skill install owner/repo',
      });
    }
    if (pending.length > 0) return applyWhenConfirmed(pending, flags, signal, 'update');
    const lost = plans.some((plan) => plan.lost.length > 0);
    if (flags.json) printJson({ applied: false, plans: plans.map((plan) => planJson(plan, false)) });
    else {
      const paint = paintFor(process.stderr);
      for (const plan of plans) for (const line of planLines({ ...plan, skills: [] }, paint)) note(line);
      const count = plans.reduce((sum, { skills }) => sum + skills.length, 0);
      print(`${plural(count, 'skill')} up to date`);
    }
    return lost ? EXIT.failed : EXIT.done;
  });
