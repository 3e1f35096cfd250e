import { statSync } from 'node:fs';
import { ReasonixError } from '../../core/errors.ts';
import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import { findSession } from '../session/open-store.ts';

/** The session that a run works in. */
export type Target = { kind: 'new' } | { kind: 'resume' | 'fork'; from: SessionSummary };

export interface TargetFlags {
  resume?: string | undefined;
  continue?: boolean | undefined;
  fork?: string | undefined;
}

/** Whether a session is named that a turn could be finished in. */
export function goesOn({ resume, continue: newest, fork }: TargetFlags): boolean {
  const given = [resume !== undefined && '--resume', newest && '--continue', fork !== undefined && '--fork'].filter(
    Boolean,
  );
  if (given.length > 1) {
    throw new ReasonixError('usage', `${given.join(' and ')} do not go together`, {
      hint: 'name one session to go on with',
    });
  }
  return given.length === 1;
}

/** Finds it. Without a session in this folder, `--continue` starts one. */
export async function targetOf(flags: TargetFlags, store: SessionStore, cwd: string): Promise<Target> {
  const reference = flags.resume ?? flags.fork;
  if (reference !== undefined) {
    const from = await findSession(store, reference);
    checkFolder(from);
    return { kind: flags.resume === undefined ? 'fork' : 'resume', from };
  }
  if (!flags.continue) return { kind: 'new' };
  const { sessions } = await store.list({ kind: 'root', cwd }, { limit: 1, by: 'updated' });
  return sessions[0] ? { kind: 'resume', from: sessions[0] } : { kind: 'new' };
}

/** A session works in its own folder, wherever it is resumed from. */
function checkFolder({ session, cwd }: SessionSummary): void {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new ReasonixError(
    'session_invalid',
    `session ${session} works in ${cwd}, and that folder does not exist any more`,
    {
      hint: `make the folder again; its messages can be read with: reasonix session show ${session}`,
    },
  );
}
