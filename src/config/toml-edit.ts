import { joinKey } from './key-spec.ts';
import { scanToml, type TomlStatement } from './toml-scan.ts';

/** Why a text cannot be edited without risk to what else is in it. */
export interface EditRefusal {
  reason: string;
  line?: number | undefined;
}

export type EditResult = { text: string; line: number | undefined } | EditRefusal;

/**
 * Sets or, with `literal` undefined, removes one key of a TOML text and leaves every other byte.
 * `path` has numbers for entries of arrays of tables, as `scanToml` counts them.
 */
export function editToml(text: string, path: readonly string[], literal: string | undefined): EditResult {
  const statements = scanToml(text);
  const existing = statements.find((statement) => statement.kind === 'key' && samePath(statement.path, path));
  if (existing) {
    return literal === undefined
      ? { text: withoutLines(text, existing), line: existing.line }
      : { text: text.slice(0, existing.valueStart) + literal + text.slice(existing.end), line: existing.line };
  }
  const around = statements.find(
    (statement) => statement.kind === 'key' && samePath(statement.path, path.slice(0, statement.path.length)),
  );
  if (around) return { reason: `it is part of the value of ${joinKey(around.path)}`, line: around.line };
  if (literal === undefined) return { text, line: undefined };

  const place = insertionPlace(text, statements, path);
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const before = text.slice(0, place.offset);
  const gap = before === '' || before.endsWith('\n') ? '' : newline;
  const lines = place.lines.map((line) => (line === '' ? newline : `${line}${newline}`)).join('');
  const statement = `${joinKey(path.slice(place.table.length))} = ${literal}${newline}`;
  const edited = `${before}${gap}${lines}${statement}${place.isFollowed ? newline : ''}${text.slice(place.offset)}`;
  const line = (before + gap + lines).split('\n').length;
  return { text: edited, line };
}

interface Place {
  offset: number;
  /** Lines to put before the statement: a blank one, a header. */
  lines: string[];
  /** Path of the table that the statement then stands in. */
  table: readonly string[];
  /** A blank line has to follow. */
  isFollowed?: boolean;
}

function insertionPlace(text: string, statements: readonly TomlStatement[], path: readonly string[]): Place {
  const parent = path.slice(0, -1);
  const sibling = statements.findLast(
    ({ kind, path: other }) => kind === 'key' && samePath(other.slice(0, -1), parent),
  );
  if (sibling) return { offset: lineEnd(text, sibling.end), lines: [], table: sibling.table };
  const header = statements.find((statement) => statement.kind === 'header' && samePath(statement.path, parent));
  if (header) return { offset: lineEnd(text, header.end), lines: [], table: parent };
  if (parent.length === 0) {
    const first = statements.find(({ kind }) => kind === 'header');
    if (!first) return { offset: text.length, lines: [], table: [] };
    return { offset: aboveComments(text, first.start), lines: [], table: [], isFollowed: true };
  }
  // A header [providers.x] would belong to the newest entry of the array, which may be another one.
  const entry = statements.find(
    (statement) => statement.kind === 'header' && samePath(statement.path, path.slice(0, 2)),
  );
  if (entry && /^\d+$/.test(path[1] ?? '')) {
    const last = statements.findLast(({ kind, table }) => kind === 'key' && samePath(table, entry.path)) ?? entry;
    return { offset: lineEnd(text, last.end), lines: [], table: entry.path };
  }
  return { offset: text.length, lines: [...(text.trim() === '' ? [] : ['']), `[${joinKey(parent)}]`], table: parent };
}

/** Comments right above a header are about what follows it. */
function aboveComments(text: string, headerStart: number): number {
  let offset = text.lastIndexOf('\n', headerStart - 1) + 1;
  while (offset > 0) {
    const previous = text.lastIndexOf('\n', offset - 2) + 1;
    if (!text.slice(previous, offset).trimStart().startsWith('#')) break;
    offset = previous;
  }
  return offset;
}

/** Offset after the end of the line that `from` is in. */
function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end + 1;
}

function withoutLines(text: string, statement: TomlStatement): string {
  const start = text.lastIndexOf('\n', statement.start - 1) + 1;
  return text.slice(0, start) + text.slice(lineEnd(text, statement.end));
}

const samePath = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((segment, index) => segment === right[index]);
