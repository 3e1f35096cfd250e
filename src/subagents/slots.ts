/** The right of one child to run. */
export interface Slot {
  /** Gives the slot back while the child waits for children of its own. Calls may overlap. */
  lend(): void;
  /** Ends one `lend`; after the last one it waits until there is room again. */
  reclaim(): Promise<void>;
  release(): void;
}

/** How many children run at once, over all trees of a runtime. */
export interface Slots {
  /** Waits for room. @throws the signal's reason when it aborts first. */
  acquire(signal: AbortSignal): Promise<Slot>;
}
