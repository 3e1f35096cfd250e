/** Longest path inside a source, and longest part of one, in bytes of UTF-8. */
const LONGEST_PATH = 1_024;
const LONGEST_PART = 200;

/** Signs that hide or turn text around, and those of no encoding. */
const DECEPTIVE =
  /[\p{Cc}\p{Zl}\p{Zp}\u200b\u200e\u200f\u061c\u202a-\u202e\u2060-\u2069\ufeff\ufffd\u{e0000}-\u{e007f}]/u;
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?$/i;

/** Why a path from a source leads, or on some system would lead, out of its folder; nothing when it does not. */
export function leadsOut(path: string): string | undefined {
  if (path.includes('\0')) return 'holds a NUL';
  if (path.includes('\\')) return 'holds a backslash';
  if (path.startsWith('/')) return 'is absolute';
  if (/^[A-Za-z]:/.test(path)) return 'starts with a drive letter';
  const parts = path.split('/');
  if (parts.includes('..')) return 'leads upwards';
  if (parts.includes('') || parts.includes('.')) return 'has an empty part';
  return undefined;
}

/** Why a file of this path is not written; nothing when it may be. */
export function unusablePath(path: string): string | undefined {
  const out = leadsOut(path);
  if (out !== undefined) return out;
  if (DECEPTIVE.test(path) || !path.isWellFormed()) return 'holds control or invisible characters';
  if (Buffer.byteLength(path) > LONGEST_PATH) return 'is too long';
  for (const part of path.split('/')) {
    if (Buffer.byteLength(part) > LONGEST_PART) return 'has a part that is too long';
    if (/[ .]$/.test(part)) return 'has a part that ends with a blank or a dot';
    if (/[:*?"<>|]/.test(part)) return 'holds a character that not every system has in names';
    if (RESERVED.test(part)) return `has the part ${part}, which is a device on some systems`;
  }
  return undefined;
}

/** Paths of which several are one on a system that ignores case or normal forms. */
export function collidingPaths(paths: Iterable<string>): [string, string][] {
  const seen = new Map<string, string>();
  const colliding: [string, string][] = [];
  for (const path of paths) {
    // folders count too: "A/x" and "a/y" would share one
    const parts = path.split('/');
    for (let depth = 1; depth <= parts.length; depth++) {
      const written = parts.slice(0, depth).join('/');
      const isFile = depth === parts.length;
      const key = written.normalize('NFC').toLowerCase();
      const mark = isFile ? `${written}\0` : written;
      const other = seen.get(key);
      if (other === undefined) seen.set(key, mark);
      else if (other !== mark || isFile) {
        colliding.push([other.replace('\0', ''), written]);
        break;
      }
    }
  }
  return colliding;
}

/** Folders that are never part of a skill: repositories, whose configuration runs programs, and packages. */
const LEFT_OUT = new Set(['.git', '.hg', '.svn', '.bzr', '.jj', 'node_modules', '__pycache__', '.ds_store']);

export const isLeftOut = (path: string): boolean =>
  path.split('/').some((part) => LEFT_OUT.has(part.normalize('NFC').toLowerCase()));
