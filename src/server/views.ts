import type { StoredEvent } from '../core/events.ts';
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
export interface Views {
  /** As `session list --json` has it. */
  summary(summary: SessionSummary): { status: string };
  /** As `session show --json`. */
  session(session: WholeSession): object;
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
