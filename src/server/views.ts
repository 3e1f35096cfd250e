import type { StoredEvent } from '../core/events.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Skill } from '../skills/types.ts';
import type { SessionStore, SessionSummary } from '../store/contract.ts';

/** A session with its log. */
export interface WholeSession {
  summary: SessionSummary;
  events: readonly StoredEvent[];
}

/** What a page shows of a session in a tree. */
export interface TreeView {
  session: string;
  status?: string;
  skill?: string | null;
  title?: string;
  steps: number;
  doing: readonly string[];
  children: readonly TreeView[];
}

/** How sessions and skills are written. Handed in by the command line, so that both faces say the same. */
/** What tells of sessions; a runtime is one. */
export type Told = Pick<Runtime, 'store' | 'config'>;

export interface Views {
  /** As `session list --json` has them, in their order. */
  summaries(told: Told, summaries: readonly SessionSummary[]): Promise<{ status: string }[]>;
  /** As `session show --json`. */
  session(told: Told, session: WholeSession): Promise<object>;
  /** As `session tree --json`. */
  tree(store: SessionStore, summary: SessionSummary): Promise<TreeView>;
  /** As an entry of `skill list --json`. */
  skill(skill: Skill): object;
  /** The page of `session export --format html`, with HTML before and after the session. */
  page(session: WholeSession, surroundings: PageSurroundings): string;
}

export interface PageSurroundings {
  before: string;
  after: string;
  /** CSS that the page has beside its own. */
  style: string;
  linkTo(reference: string): string;
}
