import { sep } from 'node:path';
import type { FileState } from './folders.ts';
import type { FoundFile, Scan } from './scan.ts';
import type { KeptSeen } from './seen.ts';
import type { Diagnostic } from './types.ts';

/** What few files are otherwise than a `SKILL.md` as deep below the root as its path says. */
export type Odd = Pick<FoundFile, 'layout' | 'needsKey' | 'depth' | 'viaLink'> & { plugin?: FoundFile['plugin'] };

/** What is kept of a look through one root. */
export interface Kept {
  for: string;
  /** Below the root, in the order of the scan, a line each. */
  files: string;
  odd: Record<number, Odd>;
  seen: KeptSeen;
  diagnostics: Scan['diagnostics'];
}

/** Whether what was read is a look through this root: a damaged file must send nobody elsewhere. */
export function isSoundScan({ files, odd, seen, diagnostics }: Kept, root: string): boolean {
  return (
    typeof files === 'string' &&
    !LEADS_ELSEWHERE.test(files) &&
    Object.values(odd).every(isOdd) &&
    seen.files.every(([path, state]) => typeof path === 'string' && (state === null || isState(state))) &&
    seen.folders.every(([path, state]) => typeof path === 'string' && isState(state)) &&
    seen.folders.some(([path]) => path === root) &&
    seen.places.every((place) => areTexts(place.path, place.kind, place.real)) &&
    diagnostics.every(isDiagnostic)
  );
}

/** A part of a path that no scan gives: none, one that leads up, or a last one that is no markdown file. */
const LEADS_ELSEWHERE =
  sep === '/'
    ? /(?:^|[/\n])\.{0,2}(?:[/\n]|$)|(?<!\.md)(?:\n|$)/i
    : /(?:^|[/\\\n])\.{0,2}(?:[/\\\n]|$)|(?<!\.md)(?:\n|$)/i;

const LAYOUTS: readonly unknown[] = ['folder', 'flat', 'agent'] satisfies FoundFile['layout'][];
const SEVERITIES: readonly unknown[] = ['error', 'warning', 'info'] satisfies Diagnostic['severity'][];

const isOdd = ({ layout, plugin, needsKey, depth, viaLink }: Odd): boolean =>
  LAYOUTS.includes(layout) &&
  (plugin === undefined || typeof plugin === 'string') &&
  typeof needsKey === 'boolean' &&
  Number.isInteger(depth) &&
  typeof viaLink === 'boolean';

const isState = ({ size, mtime, ctime, inode }: FileState): boolean =>
  [size, mtime, ctime, inode].every((each) => typeof each === 'number');

const isDiagnostic = ({ severity, code, path, message }: Diagnostic): boolean =>
  SEVERITIES.includes(severity) && areTexts(code, path ?? '', message);

const areTexts = (...values: unknown[]): boolean => values.every((value) => typeof value === 'string');
