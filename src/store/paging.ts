import { ReasonixError } from '../core/errors.ts';
import type { Page } from './contract.ts';
import type { Summary } from './summary.ts';

/** A page that was asked for, with its defaults. */
export interface Paging {
  limit: number;
  newest: boolean;
  by: 'created' | 'updated';
  /** The last row of the page before: its time and its id. */
  after: { time: string; session: string } | undefined;
}

/** @throws ReasonixError `usage` for a limit out of range or a cursor of another listing. */
export function pagingOf(page: Page = {}): Paging {
  const limit = page.limit ?? 100;
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw new ReasonixError('usage', `a page holds 1 to 1,000 sessions, not ${limit}`);
  }
  const newest = page.order !== 'oldest';
  const by = page.by ?? 'created';
  return { limit, newest, by, after: page.cursor === undefined ? undefined : decode(page.cursor, newest, by) };
}

export function cursorAfter(last: Summary, paging: Paging): string {
  const fields = [paging.newest ? 'newest' : 'oldest', paging.by, timeOf(last, paging), last.session];
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

export const timeOf = (summary: Summary, paging: Paging): string =>
  paging.by === 'created' ? summary.createdAt : summary.updatedAt;

function decode(cursor: string, newest: boolean, by: string): { time: string; session: string } {
  try {
    const fields: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(fields)) {
      const [order, key, time, session]: unknown[] = fields;
      const same = order === (newest ? 'newest' : 'oldest') && key === by;
      if (same && typeof time === 'string' && typeof session === 'string') return { time, session };
    }
  } catch {
    // Reported below: the text came from outside.
  }
  throw new ReasonixError('usage', 'the cursor is not one of this listing', {
    hint: 'pass the `next` of the page before, with the same order',
  });
}
