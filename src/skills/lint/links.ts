import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Markdown } from './markdown.ts';
import type { Finding } from './problem.ts';

/** Links of one file that are looked up, and dead ones that are named. */
const MOST_LINKS = 500;
const MOST_NAMED = 10;

export interface LinkPlace {
  /** Where relative links start. */
  folder: string;
  /** The folder is the skill's own. */
  ownFolder: boolean;
  /** The line of an offset in the body. */
  lineOf(offset: number): number;
}

interface Link {
  path: string;
  offset: number;
}

const INLINE =
  /\]\( {0,3}(?:<([^<>\r\n]+)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()]*)*))(?:[ \t]{1,3}(?:"[^"\r\n]*"|'[^'\r\n]*'))? {0,3}\)/g;
const DEFINITION = /^ {0,3}\[[^\]\r\n]+\]:[ \t]{0,9}<?([^\s<>]+)>?/gm;

/**
 * Relative links, and paths in backticks below `references`, `scripts` and `assets`, that lead to
 * nothing. What a path says in backticks may be about the user's project: it counts only where the
 * skill has a folder of that name.
 */
export function deadLinks(markdown: Markdown, place: LinkPlace): Finding[] {
  const { folder, ownFolder, lineOf } = place;
  const links = [...linksIn(markdown.prose), ...(ownFolder ? pathsIn(markdown, folder) : [])];
  const seen = new Map<string, boolean>();
  const dead: Link[] = [];
  for (const { path, offset } of links) {
    if (seen.has(path) || seen.size >= MOST_LINKS) continue;
    const exists = existsSync(resolve(folder, path));
    seen.set(path, exists);
    if (!exists) dead.push({ path, offset });
  }
  const shown = dead.length > MOST_NAMED + 1 ? dead.slice(0, MOST_NAMED) : dead;
  return dead.slice(0, shown.length + 1).map(({ path, offset }, index) => {
    const message = index < shown.length ? `dead link: ${path}` : `${dead.length - shown.length} further dead links`;
    return { severity: 'warning', code: 'dead-link', line: lineOf(offset), message };
  });
}

function linksIn(prose: string): Link[] {
  const links: Link[] = [];
  for (const match of [...prose.matchAll(INLINE), ...prose.matchAll(DEFINITION)]) {
    const path = relativePath(match[1] ?? match[2] ?? '');
    if (path !== undefined) links.push({ path, offset: match.index });
  }
  return links;
}

/** The path of a relative link without fragment and query; `undefined` for everything else. */
function relativePath(target: string): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|[/\\#?~@]|www\.)/i.test(target)) return undefined;
  const path = decoded(target.replace(/[#?].*$/s, ''));
  if (path === '' || isPattern(path)) return undefined;
  // prose such as [T](x) or [name](value): a file has an extension, a folder a slash
  return /\.[a-z0-9]{1,8}$|\/$/i.test(path) ? path : undefined;
}

/** Stands for many files, or for one that the reader fills in. */
const isPattern = (path: string): boolean =>
  /[{}<>*$[\]|\0…]|\.{3}|(?:^|[/_-])(?:path\/to|your|xxx?|example|placeholder)(?:$|[/._-])/i.test(path);

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const OWN_PATH = /^(?:\.\/)?((references|scripts|assets)\/[\w./-]+\.[A-Za-z0-9]{1,8})$/;

function pathsIn({ spans }: Markdown, folder: string): Link[] {
  const has = new Map<string, boolean>();
  return spans.flatMap(({ text, offset }) => {
    const match = OWN_PATH.exec(text.trim());
    if (match === null) return [];
    const [, path, top] = match as unknown as [string, string, string];
    if (!has.has(top)) has.set(top, existsSync(resolve(folder, top)));
    return has.get(top) && !isPattern(path) ? [{ path, offset }] : [];
  });
}
