import { editDistance } from '../../core/edit-distance.ts';
import type { Field } from '../front-matter.ts';
import { KEY_RULES, keyOf } from '../keys.ts';
import { counted, type Finding } from './problem.ts';

const SPECIFIED: ReadonlySet<string> = new Set([
  'name',
  'description',
  'license',
  'compatibility',
  'metadata',
  'allowed-tools',
]);

/** Keys that are not the specification's, and unknown ones that look like a slip of the pen. */
export function keyFindings(fields: readonly Field[]): Finding[] {
  const findings: Finding[] = [];
  const present = new Set<string | undefined>(fields.map(({ key }) => keyOf(key)));
  for (const { key, line } of fields) {
    const meant = keyOf(key) === undefined ? likelyKey(key) : undefined;
    if (meant === undefined || present.has(meant)) continue;
    const message = `${key} means nothing here; did you mean ${meant}?`;
    findings.push({ severity: 'warning', code: 'key-unknown', line, message });
  }
  const extra = fields.filter(({ key }) => !SPECIFIED.has(key));
  const [first] = extra;
  if (first === undefined) return findings;
  const shown = extra.slice(0, 12).map(({ key }) => key);
  const more = extra.length > shown.length ? ` and ${counted(extra.length - shown.length, 'other')}` : '';
  const message = `not in the Agent Skills specification, other programs may ignore or refuse it: ${shown.join(', ')}${more}`;
  findings.push({ severity: 'info', code: 'key-extension', line: first.line, message });
  return findings;
}

/** The known key that is one or two letters away. */
function likelyKey(written: string): string | undefined {
  const key = written.toLowerCase().replace(/[_\s]/g, '-');
  if (key.length < 6 || key.length > 40) return undefined;
  const most = key.length < 9 ? 1 : 2;
  return Object.keys(KEY_RULES).find((known) => known.length > 5 && editDistance(key, known) <= most);
}
