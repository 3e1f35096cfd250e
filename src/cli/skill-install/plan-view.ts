import type { Grant } from '../../skills/install/grant.ts';
import type { InstallPlan } from '../../skills/install/install.ts';
import { sizeText } from '../../skills/install/limits.ts';
import type { PlannedSkill } from '../../skills/install/plan.ts';
import { changesText } from '../../skills/install/verify.ts';
import { plural } from '../format.ts';
import { shortPath } from '../settings.ts';
import { type Paint, printable, printableLine } from '../terminal.ts';

const SHOWN_SCRIPTS = 10;
const SHOWN_WARNINGS = 20;

const VERBS = { install: 'new', update: 'update', replace: 'REPLACE', keep: 'unchanged' } as const;

/** A plan for people: what, where, how much, what can run, what cannot be seen, what it may do. */
export function planLines({ place, skills, others, notes, lost }: InstallPlan, paint: Paint): string[] {
  const lines = skills.flatMap((skill) => skillLines(skill, place.folder, paint));
  for (const { name, reason } of lost)
    lines.push(`${paint('yellow', 'not updated')} ${printableLine(`${name}: ${reason}`)}`);
  for (const each of notes) lines.push(paint('dim', `note: ${printableLine(each)}`));
  if (others.length > 0) lines.push(paint('dim', `not chosen: ${printableLine(others.join(', '))}`));
  return lines;
}

function skillLines(skill: PlannedSkill, folder: string, paint: Paint): string[] {
  const { name, description, path, action, size, files, entry, scripts, warnings, meets, leaves } = skill;
  const revision = entry.revision === null ? '' : ` at ${entry.revision.slice(0, 19)}`;
  const lines = [
    `${paint('bold', printableLine(name))}  ${paint(action === 'replace' ? 'red' : 'green', VERBS[action])}  ${plural(files.length, 'file')}, ${sizeText(size)}`,
    `  ${printableLine(description)}`,
    `  to      ${shortPath(`${folder}/${path}`)}`,
    `  from    ${printableLine(`${entry.source}${entry.from === '' ? '' : `, ${entry.from}`}${revision}`)}`,
    ...grantLines(skill, paint),
  ];
  if (scripts.length > 0) {
    const shown = scripts
      .slice(0, SHOWN_SCRIPTS)
      .map((script) => (entry.executable.includes(script) ? `${script}*` : script));
    const more = scripts.length > shown.length ? ` and ${scripts.length - shown.length} more` : '';
    lines.push(
      `  scripts ${paint('yellow', printableLine(shown.join(', ')) + more)}${entry.executable.length > 0 ? '  (* may be run)' : ''}`,
    );
  }
  for (const { severity, path: file, line, message } of warnings.slice(0, SHOWN_WARNINGS)) {
    const style = severity === 'error' ? 'red' : severity === 'warning' ? 'yellow' : 'dim';
    const where = line === undefined ? file : `${file}:${line}`;
    lines.push(`  ${paint(style, severity)} ${printableLine(`${where}: ${message}`)}`);
  }
  if (warnings.length > SHOWN_WARNINGS) lines.push(`  ${plural(warnings.length - SHOWN_WARNINGS, 'more warning')}`);
  if (meets !== undefined) {
    const scope = meets.scope === 'builtin' ? 'built-in' : meets.scope;
    lines.push(`  ${paint('yellow', `there is a ${scope} skill of this name`)}: ${shortPath(meets.path)}`);
  }
  if (leaves !== undefined) lines.push(`  leaves  ${printableLine(leaves.path)}`);
  if (action === 'update' || action === 'replace') lines.push(`  changes ${printableLine(changesText(skill.changes))}`);
  return [...lines, ...skill.diff.map((line) => diffLine(line, paint))];
}

function grantLines({ grant, grantBefore }: PlannedSkill, paint: Paint): string[] {
  const now = grantText(grant);
  if (grantBefore === undefined) return [`  runs as ${printableLine(now)}`];
  const before = grantText(grantBefore);
  return [`  ${paint('yellow', 'runs as')} ${printableLine(now)}`, `  before  ${printableLine(before)}`];
}

/** `subagent; tools: read_file, grep; read-only`. */
function grantText({ run_as, tools, disallowed_tools, read_only, limits }: Grant): string {
  const parts: string[] = [run_as];
  parts.push(
    tools === null ? 'every tool of its caller' : tools.length === 0 ? 'no tools' : `tools: ${tools.join(', ')}`,
  );
  if (disallowed_tools.length > 0) parts.push(`never: ${disallowed_tools.join(', ')}`);
  if (read_only) parts.push('read-only');
  const set = Object.entries(limits).map(([key, value]) => `${key} ${value}`);
  if (set.length > 0) parts.push(`limits: ${set.join(', ')}`);
  return parts.join('; ');
}

function diffLine(line: string, paint: Paint): string {
  const text = `  ${printable(line.replace(/\r$/, ''))}`;
  if (line.startsWith('+')) return paint('green', text);
  return line.startsWith('-') ? paint('red', text) : text;
}

/** The same for programs. */
export function planJson(plan: InstallPlan, applied: boolean): Record<string, unknown> {
  const { place, skills, others, notes, lost } = plan;
  return {
    applied,
    scope: place.scope,
    folder: place.folder,
    skills: skills.map((skill) => ({
      name: skill.name,
      description: skill.description,
      action: skill.action,
      path: `${place.folder}/${skill.path}`,
      source: skill.entry.source,
      kind: skill.entry.kind,
      from: skill.entry.from,
      ref: skill.entry.ref,
      revision: skill.entry.revision,
      content: skill.entry.content,
      files: skill.files.map(({ path, bytes }) => ({
        path,
        size: bytes.length,
        executable: skill.entry.executable.includes(path),
      })),
      size: skill.size,
      scripts: skill.scripts,
      grant: skill.grant,
      grant_before: skill.grantBefore ?? null,
      warnings: skill.warnings,
      meets: skill.meets ?? null,
      changes: skill.changes,
      diff: skill.diff,
    })),
    others,
    notes,
    lost,
  };
}
