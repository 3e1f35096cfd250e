import { counted, type Finding } from './problem.ts';

export interface FoundSecret {
  what: string;
  /** In UTF-16 units. */
  offset: number;
  /** Its start and its length; never the secret itself. */
  masked: string;
}

/** Only shapes that nothing else has: a false alarm here trains people to ignore the true one. */
const SHAPES: readonly { what: string; shape: RegExp; shown: number }[] = [
  { what: 'an Anthropic API key', shape: /\bsk-ant-[a-z]+\d*-[A-Za-z0-9_-]{32,}/g, shown: 7 },
  { what: 'an API key', shape: /\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{24,}/g, shown: 3 },
  { what: 'an AWS access key id', shape: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, shown: 4 },
  {
    what: 'a GitHub token',
    shape: /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{40,})/g,
    shown: 4,
  },
  { what: 'a GitLab token', shape: /\bglpat-[A-Za-z0-9_-]{20,}/g, shown: 6 },
  { what: 'a Slack token', shape: /\bxox[abeoprs]-(?:\d+-)?\d{8,}-[A-Za-z0-9-]{16,}/g, shown: 5 },
  {
    what: 'a Slack webhook',
    shape: /https:\/\/hooks\.slack\.com\/services\/T[A-Z0-9]{8,}\/B[A-Z0-9]{8,}\/[A-Za-z0-9]{20,}/g,
    shown: 34,
  },
  { what: 'a Google API key', shape: /\bAIza[A-Za-z0-9_-]{35}\b/g, shown: 4 },
  { what: 'a Stripe key', shape: /\b[sr]k_live_[A-Za-z0-9]{24,}/g, shown: 8 },
  { what: 'an npm token', shape: /\bnpm_[A-Za-z0-9]{36}\b/g, shown: 4 },
  { what: 'a Hugging Face token', shape: /\bhf_[A-Za-z0-9]{34}\b/g, shown: 3 },
  { what: 'a signed token (JWT)', shape: /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}/g, shown: 3 },
  {
    what: 'a private key',
    shape:
      /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY(?: BLOCK)?-----(?:\\n|[\s>#*|])+(?:[\w-]+: [^\n]*\s+){0,9}[A-Za-z0-9+/=]{40,}/g,
    shown: 27,
  },
];

/** Words of people who show how a key looks. */
const PLACEHOLDER =
  /x{4}|\.{3}|…|\*{3}|0{6}|1{6}|a{6}|(?:0?123456)|abcdef|example|sample|placeholder|your|test|dummy|fake|redacted|replace|change|insert|secret|token|foobar|deadbeef|here|demo|mock|my[-_]?key|api[-_]?key/i;

/** Keys and tokens that look real: placeholders and made-up values pass. */
export function findSecrets(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const { what, shape, shown } of SHAPES) {
    for (const { 0: value, index } of text.matchAll(shape)) {
      const known = found.some(({ offset }) => offset === index);
      if (known || !looksReal(what, value.slice(shown))) continue;
      found.push({ what, offset: index, masked: `${value.slice(0, shown)}… (${value.length} characters)` });
    }
  }
  return found.sort((a, b) => a.offset - b.offset);
}

function looksReal(what: string, rest: string): boolean {
  if (what === 'a private key') return !PRIVATE_KEY_PLACEHOLDER.test(rest) && varied(rest, 12);
  if (what.startsWith('a signed token')) return !isSampleToken(rest) && varied(rest, 16);
  if (PLACEHOLDER.test(rest)) return false;
  const mixed = /\d/.test(rest) && /[A-Za-z]/.test(rest);
  return mixed && varied(rest, Math.min(12, rest.length / 2)) && !isSlug(rest);
}

const PRIVATE_KEY_PLACEHOLDER = /\.{3}|…|example|your|x{8}/i;

const varied = (text: string, least: number): boolean => new Set(text).size >= least;

/** `sk-learn-pipeline-v2-tutorial` is words, not a key. */
const isSlug = (text: string): boolean => /^[a-z]+\d{0,2}(?:[-_][a-z]*\d{0,4})+$/.test(text);

/** The token that documentation shows everywhere is about John Doe, 1234567890. */
function isSampleToken(rest: string): boolean {
  const payload = Buffer.from(rest.split('.')[1] ?? '', 'base64url').toString('utf8');
  return /1234567890|John Doe|example|test/i.test(payload);
}

export function secretFindings(text: string, lineOf: (offset: number) => number): Finding[] {
  const groups = new Map<string, { first: FoundSecret; count: number }>();
  for (const each of findSecrets(text)) {
    const key = `${each.what} ${each.masked}`;
    const group = groups.get(key);
    if (group) group.count++;
    else groups.set(key, { first: each, count: 1 });
  }
  return [...groups.values()].map(({ first, count }) => ({
    severity: 'error',
    code: 'secret',
    line: lineOf(first.offset),
    message: `looks like ${first.what}: ${first.masked}${count === 1 ? '' : `, ${counted(count, 'time')}`}; take it out and revoke it`,
  }));
}
