/** One turn of a session, by the sequence number of the message that began it. */
export interface TurnName {
  session: string;
  turn: number;
}

/** What the turns below a level spend of what it may. */
export interface SharedSpent {
  tokens: number;
  cost: number;
  /** Child sessions started. */
  spawns: number;
}

/** What several processes that run parts of one tree have spent together, as the budget of one of its turns sees it. */
export interface BudgetLedger {
  /** What each level has spent, everything below included: outermost first, down to the budget that has the ledger. */
  spent(): Promise<readonly SharedSpent[]>;
  /**
   * Says what a turn, the budget's own or one below it in this process, has spent itself so far, children
   * left out: an absolute number. Never throws because somebody is away.
   */
  record(turn: TurnName, spent: Omit<SharedSpent, 'spawns'>): Promise<void>;
  /**
   * Counts a child of a turn, once for each call. The index of the level whose limit of spawns keeps it from
   * starting; `limits` are outermost first, down to the budget that has the ledger.
   */
  admit(turn: TurnName, call: string, limits: readonly (number | undefined)[]): Promise<number | undefined>;
}
