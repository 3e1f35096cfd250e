import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ReasonixError } from '../core/errors.ts';
import { joinKey, type KeySpec, NAMED_LISTS } from './key-spec.ts';
import { anyName, unknownName } from './names.ts';
import {
  type FolderOptions,
  findFolders,
  PROJECT_FILES,
  projectFiles,
  projectFolders,
  readSettings,
} from './places.ts';
import { configError, type Place } from './problems.ts';
import { parseTomlText } from './toml.ts';
import { editToml } from './toml-edit.ts';
import { scanToml } from './toml-scan.ts';
import { parseText, parseTyped } from './values.ts';

export interface SetOptions extends FolderOptions {
  scope: 'project' | 'user';
}

export interface SetResult {
  key: string;
  path: string;
  /** Line of the key now; unset when it was removed. */
  line: number | undefined;
  created: boolean;
}

type Table = Record<string, unknown>;

/**
 * Writes one key into a TOML file of the project or the user and leaves the rest of it as it is,
 * comments included. An empty text removes the key. The file is replaced in one step.
 * @throws ReasonixError `usage` for an unknown key, `config` for a wrong value, a file that is no
 * TOML or cannot be written, and an edit that would touch more than the key.
 */
export async function setKey(name: string, value: unknown, options: SetOptions): Promise<SetResult> {
  const { key, spec } = settableKey(name);
  const literal = toLiteral(joinKey(key), spec, value);
  const folders = findFolders(options);
  const path = targetFile(options.scope, key, folders.cwd, folders.reasonixHome);
  const place: Place = { tier: options.scope, path };
  const text = readSettings(path, place);
  const before = await parseTomlText(text ?? '', place);
  const rawPath = rawPathOf(before, key, place);

  const edited = editToml(text ?? '', rawPath, literal);
  if ('reason' in edited) throw refuse({ ...place, line: edited.line }, joinKey(key), edited.reason);
  const result: SetResult = { key: joinKey(key), path, line: edited.line, created: text === undefined };
  if (literal === undefined) result.line = undefined;
  if (edited.text === (text ?? '')) return { ...result, created: false };
  await verify(before, edited.text, rawPath, literal, { ...place, line: edited.line }, joinKey(key));
  replaceFile(path, edited.text, place, options.scope);
  return result;
}

function settableKey(name: string): { key: readonly string[]; spec: KeySpec } {
  const named = anyName(name);
  if (named?.kind === 'value') return named;
  if (!named)
    throw new ReasonixError('usage', unknownName(name), { hint: 'see every key with `reasonix config list`' });
  const instead = named.kind === 'switch' ? 'skills.disabled_skills' : joinKey(named.key);
  const hint = named.kind === 'table' ? `set one entry: ${instead}.NAME` : `set ${instead} instead`;
  throw new ReasonixError('usage', `${name} cannot be written to a TOML file as it is`, { hint });
}

/** The value as TOML; `undefined` for an empty one. Durations and sizes stay as they were written. */
function toLiteral(key: string, spec: KeySpec, value: unknown): string | undefined {
  if (typeof value === 'string' && value.trim() === '') return undefined;
  const parsed = typeof value === 'string' ? parseText(spec, value) : parseTyped(spec, value);
  if (!parsed.ok) {
    throw new ReasonixError('config', `${key}: expected ${parsed.expected}, found ${parsed.found}`, {
      hint: `nothing was written; \`reasonix config explain ${key}\` says more`,
    });
  }
  if (spec.type === 'duration' || spec.type === 'bytes') {
    const text = String(value).trim();
    return /^\d+$/.test(text) ? String(Number(text)) : quote(text);
  }
  return Array.isArray(parsed.value) ? `[${parsed.value.map(quote).join(', ')}]` : quote(parsed.value);
}

/** TOML's basic strings are JSON's, but for one control character. */
const quote = (value: unknown): string => JSON.stringify(value).replaceAll('\u007f', '\\u007f');

/** The file that holds the key already, else the first there is, else a new one. */
function targetFile(scope: SetOptions['scope'], key: readonly string[], cwd: string, reasonixHome: string): string {
  const userFile = join(reasonixHome, 'config.toml');
  if (scope === 'user') return userFile;
  const folders = projectFolders(cwd);
  const existing = projectFiles(folders, userFile)?.paths ?? [];
  const holds = (path: string): boolean => {
    const text = readSettings(path, { tier: scope }) ?? '';
    const named = NAMED_LISTS.includes(key[0] ?? '') ? key.slice(0, 1) : key;
    return scanToml(text).some(({ path: found }) => named.every((segment, index) => found[index] === segment));
  };
  return existing.find(holds) ?? existing[0] ?? join(folders.at(-1)!, PROJECT_FILES[0]!);
}

/** The key's path in the file, where the entries of named lists are counted and not named. */
function rawPathOf(table: Table, key: readonly string[], place: Place): string[] {
  const [section = ''] = key;
  if (!NAMED_LISTS.includes(section)) return [...key];
  const entries = Array.isArray(table[section]) ? (table[section] as Table[]) : [];
  const index = entries.findIndex((entry) => entry.name === key[1]);
  if (index >= 0) return [section, String(index), ...key.slice(2)];
  throw refuse(place, joinKey(key), `the file has no [[${section}]] entry named "${key[1]}"`);
}

/** Reads the edited text back: it must say what it said before, and the one key. */
async function verify(
  before: Table,
  text: string,
  path: readonly string[],
  literal: string | undefined,
  place: Place,
  key: string,
): Promise<void> {
  const wanted = structuredClone(before);
  const value = literal === undefined ? undefined : (JSON.parse(literal) as unknown);
  applyTo(wanted, path, value);
  let after: Table;
  try {
    after = await parseTomlText(text, place);
  } catch {
    throw refuse(place, key, 'the file would no longer be valid');
  }
  if (!isDeepStrictEqual(plain(after), plain(wanted))) throw refuse(place, key, 'more than this key would change');
}

function applyTo(root: Table, path: readonly string[], value: unknown): void {
  let table = root;
  for (const segment of path.slice(0, -1)) {
    if (!Object.hasOwn(table, segment)) table[segment] = {};
    table = table[segment] as Table;
  }
  if (value === undefined) delete table[path.at(-1)!];
  else table[path.at(-1)!] = value;
}

/** For comparing: a table that became empty and one that is gone say the same. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const entries = Object.entries(value).map(([name, item]) => [name, plain(item)] as const);
  return Object.fromEntries(
    entries.filter(
      ([, item]) => typeof item !== 'object' || item === null || Object.keys(item).length > 0 || Array.isArray(item),
    ),
  );
}

const refuse = (place: Place, key: string, reason: string): ReasonixError =>
  configError([{ ...place, message: `${key} cannot be set here: ${reason}; edit the file by hand` }]);

function replaceFile(path: string, text: string, place: Place, scope: SetOptions['scope']): void {
  let temporary: string | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, ...(scope === 'user' ? { mode: 0o700 } : {}) });
    const existing = statSync(path, { throwIfNoEntry: false });
    const target = existing ? realpathSync(path) : path;
    const mode = existing ? existing.mode & 0o777 : scope === 'user' ? 0o600 : 0o644;
    temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`);
    writeFileSync(temporary, text, { flag: 'wx', mode, flush: true });
    // The mode given above is narrowed by the umask; an existing file keeps its own.
    if (existing) chmodSync(temporary, mode);
    renameSync(temporary, target);
  } catch (error) {
    if (temporary) rmSync(temporary, { force: true });
    const code = (error as NodeJS.ErrnoException).code;
    throw configError([{ ...place, message: `cannot be written (${code}); nothing was changed` }], error);
  }
}
