import type { ListFilter, Page, SessionSummary } from '../contract.ts';
import { mayBeAlive } from '../owner.ts';
import { cursorAfter, pagingOf } from '../paging.ts';
import type { Connection } from './connection.ts';

interface Row extends Omit<SessionSummary, 'parent' | 'skill' | 'holder'> {
  parentSession: string | null;
  parentCall: string | null;
  skill: string | null;
  owner: string | null;
}

const COLUMNS = `sessions.session, kind, root, parent_session as "parentSession", parent_call as "parentCall", skill,
  title, cwd, model, depth, created_at as "createdAt", updated_at as "updatedAt", last_seq as "lastSeq", status`;

/** Lists sessions by the indexes of their table. */
export async function listSessions(
  { schema, query }: Pick<Connection, 'schema' | 'query'>,
  filter: ListFilter = {},
  page?: Page,
): Promise<{ sessions: SessionSummary[]; next?: string | undefined }> {
  const paging = pagingOf(page);
  const key = paging.by === 'created' ? 'created_at' : 'updated_at';
  const where: string[] = [];
  const values: unknown[] = [];
  const value = (given: unknown): string => `$${values.push(given)}`;
  const equals = (column: string, wanted: string | undefined) => {
    if (wanted !== undefined) where.push(`${column} = ${value(wanted)}`);
  };
  equals('kind', filter.kind);
  equals('root', filter.root);
  equals('parent_session', filter.parent?.session);
  equals('parent_call', filter.parent?.call);
  equals('cwd', filter.cwd);
  // As a constant, so that the index of open sessions serves.
  if (filter.open) where.push("status = 'open'");
  if (filter.idPrefix !== undefined) {
    const { idPrefix } = filter;
    where.push(`sessions.session >= ${value(idPrefix)} and sessions.session < ${value(`${idPrefix}\u{10ffff}`)}`);
  }
  if (paging.after) {
    const { time, session } = paging.after;
    where.push(`(${key}, sessions.session) ${paging.newest ? '<' : '>'} (${value(time)}, ${value(session)})`);
  }
  const direction = paging.newest ? 'desc' : 'asc';
  const rows = await query<Row>(
    `select ${COLUMNS}, leases.owner from ${schema}.sessions
     left join ${schema}.leases on leases.session = sessions.session and leases.expires > clock_timestamp()
     ${where.length > 0 ? `where ${where.join(' and ')}` : ''}
     order by ${key} ${direction}, sessions.session ${direction} limit ${value(paging.limit + 1)}`,
    values,
  );
  const sessions = rows.slice(0, paging.limit).map(summaryOf);
  const last = sessions.at(-1);
  return { sessions, next: last && rows.length > paging.limit ? cursorAfter(last, paging) : undefined };
}

function summaryOf({ parentSession, parentCall, skill, owner, ...row }: Row): SessionSummary {
  return {
    ...row,
    parent: parentSession === null ? undefined : { session: parentSession, call: parentCall ?? '' },
    skill: skill ?? undefined,
    holder: owner !== null && mayBeAlive(owner) ? owner : undefined,
  };
}
