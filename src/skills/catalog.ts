import { prompt } from '../core/prompts.ts';
import { byteLength, clipGraphemes, clipStart } from '../core/text.ts';
import { isOffered } from './list-filter.ts';
import { compareCodePoints } from './names.ts';
import { neutralise } from './neutralise.ts';
import type { Skill } from './types.ts';

/** Longest description of a catalog line, in graphemes. */
const DESCRIPTION_LIMIT = 255;
/** A grapheme can be of any length; this bounds a line of hostile ones, in UTF-16 units. */
const LONGEST_LINE = 2_048;

export interface CatalogOptions {
  /** Every skill that can be run. */
  skills: readonly Skill[];
  /** Those that the filters leave. */
  listed: readonly Skill[];
  /** Required skills; like built-ins they are never cut for room. */
  required?: readonly string[] | undefined;
  /** List built-ins only and point to search. */
  lazy: boolean;
  /** Default `full`. */
  style?: 'full' | 'names' | undefined;
  /** Room of the lines, in bytes: descriptions give way first, then names. Default 16 KiB. */
  maxBytes?: number | undefined;
  /** Folders that skills are in, for the last line. */
  folders: readonly string[];
}

export interface Catalog {
  /** The description of `run_skill`. */
  text: string;
  /** Something that search would show is not in the text: a skill, or descriptions that had no room. */
  isPartial: boolean;
  /** Skills that are offered to models and not in the text. */
  hidden: number;
  /** Names that have a line in the text. */
  shown: ReadonlySet<string>;
}

/** The description of `run_skill`, byte for byte the same for the same library in any order. */
export function describeSkills(options: CatalogOptions): Catalog {
  const { skills, lazy, folders } = options;
  const candidates = lazy ? skills.filter((skill) => isBuiltIn(skill) && isOffered(skill)) : options.listed;
  const { lines, shown, bare } = fitted(candidates, options);
  // Skills that the model is not meant to start are not advertised, so they are not missing either.
  const hidden = skills.filter((skill) => isOffered(skill) && !shown.has(skill.name)).length;
  const lead = prompt('skills-lead');
  const pointer = `${lead} ${prompt('skills-search-first')}`;
  // Without a single built-in the pointer says all there is to say.
  if (lazy && lines.length === 0) return { text: pointer, isPartial: true, hidden, shown };
  const first = lines.length > 0 && !lazy ? `${lead} Available skills:` : lazy || hidden > 0 ? pointer : lead;
  const text = [
    first,
    ...lines,
    ...(bare > 0 ? [prompt('skills-names-only', { count: bare })] : []),
    ...(hidden > 0 ? [prompt('skills-more', { count: hidden })] : []),
    ...(folders.length > 0 ? [prompt('skills-folders', { folders: folders.map(neutralise).join(', ') })] : []),
  ].join('\n');
  return { text, isPartial: lazy || hidden > 0 || bare > 0, hidden, shown };
}

const isBuiltIn = (skill: Skill): boolean => skill.scope === 'builtin';

interface Fitted {
  lines: string[];
  /** Names that have a line. */
  shown: Set<string>;
  /** Lines that lost their description for want of room. */
  bare: number;
}

type Detail = 'full' | 'name' | 'none';

/** The richest of five forms that fits; the poorest, names of kept skills, always does. */
function fitted(
  candidates: readonly Skill[],
  { style = 'full', maxBytes = 16_384, required = [] }: CatalogOptions,
): Fitted {
  const keptNames = new Set(required);
  const skills = candidates
    .toSorted((a, b) => compareCodePoints(a.name, b.name))
    .map((skill) => ({ skill, kept: isBuiltIn(skill) || keptNames.has(skill.name) }));
  const most: Detail = style === 'full' ? 'full' : 'name';
  const forms: { kept: Detail; rest: Detail }[] = [
    { kept: most, rest: most },
    { kept: most, rest: 'name' },
    { kept: 'name', rest: 'name' },
    { kept: most, rest: 'none' },
    { kept: 'name', rest: 'none' },
  ];
  let best: Fitted = { lines: [], shown: new Set(), bare: 0 };
  for (const form of forms) {
    const chosen = skills.map(({ skill, kept }) => ({ skill, detail: kept ? form.kept : form.rest }));
    const withLine = chosen.filter(({ detail }) => detail !== 'none');
    const lines = withLine.map(({ skill, detail }) => (detail === 'full' ? fullLine(skill) : nameLine(skill)));
    const bare = withLine.filter(({ skill, detail }) => detail !== most && skill.description !== '').length;
    best = { lines, shown: new Set(withLine.map(({ skill }) => skill.name)), bare };
    if (lines.reduce((sum, line) => sum + byteLength(line) + 1, 0) <= maxBytes) break;
  }
  return best;
}

const nameLine = ({ name, runAs }: Skill): string =>
  `- ${neutralise(name)}${runAs === 'subagent' ? ' [subagent]' : ''}`;

function fullLine(skill: Skill): string {
  const description = shortDescription(skill.description);
  return description === '' ? nameLine(skill) : `${nameLine(skill)}: ${description}`;
}

/** One neutral line of at most 255 graphemes, `…` where it was cut. */
export function shortDescription(description: string): string {
  const line = neutralise(description);
  const bounded = clipStart(line, LONGEST_LINE);
  return clipGraphemes(bounded === line ? line : `${bounded}…`, DESCRIPTION_LIMIT);
}
