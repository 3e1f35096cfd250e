import { basename, dirname } from 'node:path';
import { isOrdinaryName, judgeName, normalName } from '../names.ts';
import type { SkillPlace } from '../parse.ts';
import { isSpecificationName } from './strict.ts';

/** Folders that are not named after the skill in them. */
const GENERIC = new Set(
  'skills skill agents agent subagents commands command prompts plugin plugins src lib docs doc template templates examples example assets resources readme tmp temp'.split(
    ' ',
  ),
);

/**
 * The name that a skill should have: in a folder of its own that folder's, where it is one by the
 * specification; else its own made valid. `undefined` when the written one should stay.
 */
export function betterName(written: string | undefined, place: SkillPlace): string | undefined {
  const own = written === undefined ? '' : normalName(written);
  const better = candidate(own, place);
  return better === written ? undefined : better;
}

function candidate(own: string, { file, layout }: SkillPlace): string | undefined {
  const folder = normalName(basename(dirname(file)));
  const counts = layout === 'folder' && !GENERIC.has(folder.toLowerCase());
  if (counts && isSpecificationName(folder)) return folder;
  if (judgeName(own).use === 'yes') return undefined;
  if (counts && judgeName(folder).use === 'yes') return folder;
  const made = slugOf(own);
  return isOrdinaryName(made) ? made : undefined;
}

function slugOf(name: string): string {
  const words = name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-');
  return [...words.replace(/^-|-$/g, '')].slice(0, 64).join('').replace(/-$/, '');
}
