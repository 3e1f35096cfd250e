import { ReasonixError } from '../core/errors.ts';
import type { Lease } from './contract.ts';
import { describeOwner, parseOwner } from './owner.ts';

/** The refusals that every store words in the same way. */

export function heldBy(session: string, owner: string): ReasonixError {
  const parsed = parseOwner(owner);
  return new ReasonixError('session_busy', `session ${session} is being run by ${describeOwner(owner)}`, {
    hint: 'wait until it is done, or stop that process; reading the session is possible at any time',
    details: { session, holder: owner, host: parsed?.host, pid: parsed?.pid },
  });
}

export function outrun(
  session: string,
  expectedSeq: number,
  lastSeq: number,
  holder: string | undefined,
): ReasonixError {
  if (lastSeq === 0) {
    return new ReasonixError('session_not_found', `session ${session} is not in the store: it may have been deleted`, {
      details: { session, expectedSeq, lastSeq },
    });
  }
  const who = holder === undefined ? 'another writer' : describeOwner(holder);
  return new ReasonixError(
    'session_busy',
    `session ${session} stands at event ${lastSeq}, not ${expectedSeq}: ${who} was faster`,
    { hint: 'read the session again and go on from there', details: { session, expectedSeq, lastSeq, holder } },
  );
}

export function leaseLost(lease: Lease, holder: string | undefined): ReasonixError {
  const now = holder === undefined ? '' : `: it is run by ${describeOwner(holder)} now`;
  return new ReasonixError('stale_writer', `the lease of session ${lease.session} was lost${now}`, {
    hint: 'stop working on the session; whoever holds it now goes on from its log',
    details: { session: lease.session, holder, epoch: lease.epoch },
  });
}

export const storeClosed = (): ReasonixError => new ReasonixError('store', 'the session store is closed');
