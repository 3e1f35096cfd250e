import { basename } from 'node:path';
import { foldName, isOrdinaryName } from '../names.ts';
import type { SourceSkill } from './discover.ts';
import { collidingPaths, unusablePath } from './entry-names.ts';
import { LIMITS, sizeText } from './limits.ts';
import { joinProblems } from './refused.ts';

/**
 * Where each skill of a source goes, from the scope's folder, and what must not be installed, whatever is
 * there already.
 */
export function installable(skills: readonly SourceSkill[]): { paths: Map<SourceSkill, string>; problems: string[] } {
  const problems: string[] = [];
  const paths = new Map<SourceSkill, string>();
  for (const skill of skills) {
    const found = problemsOf(skill);
    const path = found.length === 0 ? installedPath(skill) : undefined;
    if (path === undefined && found.length === 0) found.push('its name cannot be the name of a folder');
    if (path !== undefined) paths.set(skill, path);
    if (found.length > 0) problems.push(`${shown(skill)}: ${joinProblems(found)}`);
  }
  problems.push(...sharedPaths(paths), ...tooMuch(skills));
  return { paths, problems };
}

/** What of a skill's own files and names must not be written. */
function problemsOf({ entries, diagnostics }: SourceSkill): string[] {
  const problems: string[] = [];
  const badName = diagnostics.find(({ code }) => code === 'name-invalid' || code === 'name-unusable');
  if (badName !== undefined) problems.push(badName.message.replace(/: ".*$/s, ''));
  for (const { path, inSkill, kind, size } of entries) {
    const reason = unusablePath(inSkill);
    if (reason !== undefined) problems.push(`${JSON.stringify(path)} ${reason}`);
    else if (kind === 'link') problems.push(`${path} is a link, and links are never installed`);
    else if (kind === 'other') problems.push(`${path} is no ordinary file`);
    else if (size > LIMITS.fileBytes)
      problems.push(`${path} has ${sizeText(size)}, more than ${sizeText(LIMITS.fileBytes)}`);
  }
  for (const [one, other] of collidingPaths(entries.map(({ inSkill }) => inSkill))) {
    problems.push(`${one} and ${other} are one file on many systems`);
  }
  return problems;
}

function tooMuch(skills: readonly SourceSkill[]): string[] {
  const entries = skills.flatMap((skill) => skill.entries);
  const total = entries.reduce((sum, { size }) => sum + size, 0);
  const problems: string[] = [];
  if (entries.length > LIMITS.files) problems.push(`${entries.length} files are more than ${LIMITS.files}`);
  if (total > LIMITS.totalBytes) problems.push(`${sizeText(total)} are more than ${sizeText(LIMITS.totalBytes)}`);
  return problems;
}

/** The skill's name where a folder may have it, else the name of its own folder or file. */
function installedPath({ name, from, file, skill }: SourceSkill): string | undefined {
  const own = basename(
    skill.layout === 'folder' ? (from === '' ? skill.folder : from) : file.replace(/(?:\.agent)?\.md$/i, ''),
  );
  const base = [name, own].find(
    // ".md" at the end tells flat files from folders
    (each) => isOrdinaryName(each) && unusablePath(each) === undefined && !/\.md$/i.test(each),
  );
  if (base === undefined) return undefined;
  if (skill.layout === 'folder') return `skills/${base}`;
  return skill.layout === 'agent' ? `agents/${base}.md` : `skills/${base}.md`;
}

function sharedPaths(paths: ReadonlyMap<SourceSkill, string>): string[] {
  const taken = new Map<string, SourceSkill>();
  const problems: string[] = [];
  for (const [skill, path] of paths) {
    const key = foldName(path.replace(/\.md$/, ''));
    const other = taken.get(key);
    if (other !== undefined)
      problems.push(`${shown(other)} and ${shown(skill)} would be one folder; choose one of them with --skill`);
    else taken.set(key, skill);
  }
  return problems;
}

const shown = ({ name, file }: SourceSkill): string => `${name} (${file})`;
