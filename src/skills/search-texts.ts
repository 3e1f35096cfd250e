import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decode, withoutMark } from './decode.ts';
import { findFrontMatter } from './fence.ts';
import { readSource } from './read-source.ts';
import { skillFiles } from './resources.ts';
import { type SearchText, searchText } from './search-matcher.ts';
import type { Skill, SkillLibrary } from './types.ts';

/** UTF-16 units of bodies that are kept between searches. */
const CACHE_LIMIT = 64 * 1024 * 1024;
const MOST_REFERENCES = 200;
const LARGEST_REFERENCE = 512 * 1024;

interface Kept {
  text: SearchText;
  size: number;
  /** Number of the search that last wanted it. */
  usedIn: number;
}

const bodies = new Map<string, Kept>();
let size = 0;
let searches = 0;
let purgedIn = 0;

interface Header {
  name: SearchText;
  description: SearchText;
  /** Of the body in memory. */
  key: string;
}

const headers = new WeakMap<Skill, Header>();

/** Says that a search begins: what neither it nor the one before wanted may be forgotten for room. */
export function beginSearch(): void {
  searches++;
}

export function headerOf(skill: Skill): Header {
  let header = headers.get(skill);
  if (!header) {
    const key = `${skill.file}\n${skill.stamp}`;
    header = { name: searchText(skill.name), description: searchText(skill.description), key };
    headers.set(skill, header);
  }
  return header;
}

/** The body if it is in memory and the file has not changed since, as far as the library knows. */
export function keptBody(skill: Skill): SearchText | undefined {
  const kept = bodies.get(headerOf(skill).key);
  if (kept) kept.usedIn = searches;
  return kept?.text;
}

/** Reads a body by way of the file, or of the library for a skill without one. A vanished body is empty. */
export async function readBody(library: SkillLibrary, skill: Skill): Promise<SearchText> {
  const text = searchText(bodyFromFile(skill) ?? (await bodyFromLibrary(library, skill)));
  keep(headerOf(skill).key, text);
  return text;
}

/** The fence alone: parsing the front matter of every skill again would cost more than the search. */
function bodyFromFile(skill: Skill): string | undefined {
  try {
    const source = readSource(skill.file);
    const text = typeof source === 'string' ? withoutMark(source) : decode(source).text;
    const { header, bodyStart } = findFrontMatter(text);
    const isMapping = header === undefined || header.trim() === '' || /^["']?[\p{L}_][^\n]*:/mu.test(header);
    return isMapping ? text.slice(bodyStart) : text;
  } catch {
    return undefined;
  }
}

async function bodyFromLibrary(library: SkillLibrary, skill: Skill): Promise<string> {
  try {
    return (await library.load(skill)).text;
  } catch {
    return '';
  }
}

/** When all room is taken by bodies in use, others are read anew each time: that beats forgetting them in turns. */
function keep(key: string, text: SearchText): void {
  const own = text.original.length + (text.folded === text.original ? 0 : text.folded.length);
  if (size + own > CACHE_LIMIT && purgedIn !== searches) {
    purgedIn = searches;
    for (const [old, kept] of bodies) {
      if (kept.usedIn >= searches - 1) continue;
      bodies.delete(old);
      size -= kept.size;
    }
  }
  if (size + own > CACHE_LIMIT) return;
  size += own - (bodies.get(key)?.size ?? 0);
  bodies.set(key, { text, size: own, usedIn: searches });
}

/** The text files that come with a skill: not binary, not huge, not too many. */
export async function readReferences(skill: Skill): Promise<{ path: string; text: SearchText }[]> {
  const { files } = await skillFiles(skill, { most: MOST_REFERENCES });
  const found: { path: string; text: SearchText }[] = [];
  for (const path of files) {
    const bytes = await readFile(join(skill.folder, path)).catch(() => undefined);
    if (!bytes || bytes.length > LARGEST_REFERENCE || bytes.subarray(0, 8_192).includes(0)) continue;
    found.push({ path, text: searchText(decode(bytes).text) });
  }
  return found;
}
