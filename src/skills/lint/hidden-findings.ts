import { clipGraphemes } from '../../core/text.ts';
import { findHiddenText, type HiddenText } from './hidden-text.ts';
import type { Finding } from './problem.ts';

/** Runs of hidden text that are told one by one. */
const MOST_SPELLED = 10;
const MOST_LISTED = 4;

const KINDS: Record<HiddenText['kind'], { severity: Finding['severity']; code: string; what: string }> = {
  tags: { severity: 'error', code: 'hidden-text', what: 'invisible Unicode tag characters' },
  selectors: { severity: 'error', code: 'hidden-text', what: 'a row of invisible variation selectors' },
  override: { severity: 'error', code: 'bidi-override', what: 'a sign that turns the reading order around' },
  bidi: { severity: 'warning', code: 'bidi-control', what: 'an invisible direction sign, but no right-to-left text' },
  invisible: { severity: 'warning', code: 'invisible-character', what: 'an invisible character' },
  control: { severity: 'warning', code: 'control-character', what: 'a control character' },
  separator: { severity: 'info', code: 'line-separator', what: 'a line separator that programs disagree on' },
};

const NAMES: Record<string, string> = {
  'U+00AD': 'soft hyphen',
  'U+001B': 'escape',
  'U+200B': 'zero-width space',
  'U+200C': 'zero-width non-joiner',
  'U+200D': 'zero-width joiner',
  'U+200E': 'left-to-right mark',
  'U+200F': 'right-to-left mark',
  'U+2028': 'line separator',
  'U+2029': 'paragraph separator',
  'U+202D': 'left-to-right override',
  'U+202E': 'right-to-left override',
  'U+2060': 'word joiner',
  'U+2800': 'blank braille pattern',
  'U+FEFF': 'byte order mark inside the text',
};

/** Hidden text with what it spells, each run; other signs once a kind, with their count and the first place. */
export function hiddenFindings(text: string, lineOf: (offset: number) => number): Finding[] {
  const findings: Finding[] = [];
  const kinds = new Map<HiddenText['kind'], { line: number; count: number; signs: Set<string> }>();
  let spelled = 0;
  for (const { kind, sign, offset, decoded } of findHiddenText(text)) {
    if (decoded !== undefined && ++spelled <= MOST_SPELLED) {
      const { severity, code, what } = KINDS[kind];
      const message = `${what} that read ${JSON.stringify(clipGraphemes(decoded, 300))}`;
      findings.push({ severity, code, line: lineOf(offset), message });
      continue;
    }
    const group = kinds.get(kind) ?? { line: lineOf(offset), count: 0, signs: new Set() };
    kinds.set(kind, group);
    group.count++;
    group.signs.add(sign);
  }
  for (const [kind, { line, count, signs }] of kinds) {
    const { severity, code, what } = KINDS[kind];
    const times = count === 1 ? '' : `, ${count} times from this line on`;
    findings.push({ severity, code, line, message: `${what}: ${listed([...signs])}${times}` });
  }
  return findings;
}

function listed(signs: readonly string[]): string {
  const named = signs
    .slice(0, MOST_LISTED)
    .map((sign) => (NAMES[sign] === undefined ? sign : `${sign} (${NAMES[sign]})`));
  return signs.length > MOST_LISTED ? `${named.join(', ')} and others` : named.join(', ');
}
