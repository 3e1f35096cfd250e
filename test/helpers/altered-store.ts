import type { ClockedStore, SessionStore } from '../../src/store/contract.ts';

/** Does what `store` does, but for `changes`. */
export function alteredStore(store: SessionStore, changes: Partial<ClockedStore>): SessionStore {
  // Bound: a store keeps its state to itself.
  return Object.assign(Object.create(store) as SessionStore, {
    append: store.append.bind(store),
    read: store.read.bind(store),
    list: store.list.bind(store),
    claim: store.claim.bind(store),
    renew: store.renew.bind(store),
    release: store.release.bind(store),
    ...changes,
  });
}
