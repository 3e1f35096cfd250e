import type { SessionStore } from '../../src/store/contract.ts';

/** Milliseconds that leases hold: whoever takes over from a process that is only stopped waits for that. */
const LEASE = 500;

export const withShortLeases = (store: SessionStore): SessionStore => ({
  append: (...input) => store.append(...input),
  read: (...input) => store.read(...input),
  list: (...input) => store.list(...input),
  claim: (session, owner) => store.claim(session, owner, LEASE),
  renew: (lease) => store.renew(lease, LEASE),
  release: (lease) => store.release(lease),
  delete: (session) => store.delete(session),
  close: () => store.close(),
});
