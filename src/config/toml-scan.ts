/**
 * Where the statements of a TOML text stand. Parsers give values without positions; errors and edits
 * need the lines. The text must be one that the parser has accepted.
 */
export interface TomlStatement {
  kind: 'header' | 'key';
  /** Full path; an entry of an array of tables counts from '0'. */
  path: string[];
  /** Path of the table it stands in; for a header its own. */
  table: string[];
  /** 1-based. */
  line: number;
  /** Offset of its first character. */
  start: number;
  /** Offsets of the value, for a key. */
  valueStart: number;
  /** Offset after its last character, comments not included. */
  end: number;
}

export function scanToml(text: string): TomlStatement[] {
  const statements: TomlStatement[] = [];
  const arrays = new Map<string, number>();
  let table: string[] = [];
  let position = 0;
  let line = 1;
  let counted = 0;
  const lineAt = (offset: number): number => {
    for (; counted < offset; counted++) if (text.charCodeAt(counted) === 10) line++;
    return line;
  };

  while (position < text.length) {
    position = skipBlank(text, position);
    if (position >= text.length) break;
    const start = position;
    if (text[position] === '[') {
      const isArray = text[position + 1] === '[';
      const key = readKey(text, position + (isArray ? 2 : 1));
      table = resolveHeader(key.segments, isArray, arrays);
      position = key.end + (isArray ? 2 : 1);
      const common = { path: table, table, line: lineAt(start), start, end: position };
      statements.push({ kind: 'header', ...common, valueStart: position });
    } else {
      const key = readKey(text, position);
      const valueStart = skipSpaces(text, key.end + 1);
      position = skipValue(text, valueStart);
      const path = [...table, ...key.segments];
      statements.push({ kind: 'key', path, table, line: lineAt(start), start, valueStart, end: position });
    }
    position = endOfLine(text, position);
  }
  return statements;
}

/** Line of the statement that holds `path`, or of the nearest one around it. */
export function lineOf(statements: readonly TomlStatement[], path: readonly string[]): number | undefined {
  let best: TomlStatement | undefined;
  for (const statement of statements) {
    const common = commonLength(statement.path, path);
    const isAround = common === statement.path.length;
    const isWithin = common === path.length;
    if (!isAround && !isWithin) continue;
    if (isWithin) return statement.line;
    if (!best || statement.path.length > best.path.length) best = statement;
  }
  return best?.line;
}

function commonLength(left: readonly string[], right: readonly string[]): number {
  let length = 0;
  while (length < left.length && length < right.length && left[length] === right[length]) length++;
  return length;
}

/** Puts the number of the newest entry behind each array of tables on the way. */
function resolveHeader(segments: string[], isArray: boolean, arrays: Map<string, number>): string[] {
  let path: string[] = [];
  for (const [index, segment] of segments.entries()) {
    path = [...path, segment];
    const id = path.join('\0');
    const isLast = index === segments.length - 1;
    if (isArray && isLast) arrays.set(id, (arrays.get(id) ?? -1) + 1);
    const newest = arrays.get(id);
    if (newest !== undefined) path = [...path, String(newest)];
  }
  return path;
}

function readKey(text: string, from: number): { segments: string[]; end: number } {
  const segments: string[] = [];
  let position = skipSpaces(text, from);
  for (;;) {
    const end =
      text[position] === '"' || text[position] === "'" ? skipString(text, position) : skipBare(text, position);
    segments.push(keyText(text.slice(position, end)));
    position = skipSpaces(text, end);
    if (text[position] !== '.' || end >= text.length) return { segments, end: position };
    position = skipSpaces(text, position + 1);
  }
}

function keyText(source: string): string {
  if (source.startsWith("'")) return source.slice(1, -1);
  if (!source.startsWith('"')) return source;
  try {
    return JSON.parse(source) as string;
  } catch {
    return source.slice(1, -1);
  }
}

function skipBare(text: string, from: number): number {
  let position = from;
  while (position < text.length && !/[\s.=\]#]/.test(text[position]!)) position++;
  return position;
}

function skipSpaces(text: string, from: number): number {
  let position = from;
  while (text[position] === ' ' || text[position] === '\t') position++;
  return position;
}

/** Skips white space, line ends and comments. */
function skipBlank(text: string, from: number): number {
  let position = from;
  while (position < text.length) {
    if (/\s|\uFEFF/.test(text[position]!)) position++;
    else if (text[position] === '#') position = endOfLine(text, position);
    else break;
  }
  return position;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

function skipString(text: string, from: number): number {
  const quote = text[from]!;
  const isLong = text.startsWith(quote.repeat(3), from);
  const closing = isLong ? quote.repeat(3) : quote;
  let position = from + closing.length;
  while (position < text.length && !text.startsWith(closing, position)) {
    position += quote === '"' && text[position] === '\\' ? 2 : 1;
  }
  position += closing.length;
  // A long string may end in one or two quotes of its own.
  if (isLong) while (text[position] === quote) position++;
  return Math.min(position, text.length);
}

function skipValue(text: string, from: number): number {
  const first = text[from];
  if (first === '"' || first === "'") return skipString(text, from);
  if (first === '[' || first === '{') {
    let depth = 0;
    let position = from;
    while (position < text.length) {
      const character = text[position]!;
      if (character === '"' || character === "'") position = skipString(text, position);
      else if (character === '#') position = endOfLine(text, position);
      else {
        if (character === '[' || character === '{') depth++;
        if (character === ']' || character === '}') depth--;
        position++;
        if (depth === 0) break;
      }
    }
    return position;
  }
  let end = from;
  while (end < text.length && text[end] !== '\n' && text[end] !== '#') end++;
  while (end > from && /\s/.test(text[end - 1]!)) end--;
  return end;
}
