/**
 * Shapes of keys that are known to be keys, wherever they stand. Texts are megabytes of anything: no
 * shape may begin anew inside what it has scanned in vain.
 */
const KEY_SHAPES: readonly RegExp[] = [
  /\b(?:sk|pk|rk|gsk|xai|r8|hf|fw|pplx|ghp|gho|ghu|ghs|ghr|glpat|npm|xox[abposr])[-_][A-Za-z0-9_-]{12,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /(?<![\w-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}/g,
];

/** Values that follow the name of a header or field that carries a secret. */
const LABELLED =
  /\b((?:proxy-)?authorization|x-api-key|api[-_]?key|access[-_]?token|client[-_]?secret|password)(["']?\s*[:=]\s*["']?)((?:Bearer|Basic|Token)\s+)?[^\s"',;&}]+/gi;

const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/g;

/** Not the whole scheme before it: looking for its start takes quadratic time on a long word. */
const URL_CREDENTIALS = /([a-z0-9+.-]:\/\/)[^/\s:@]+:[^/\s@]+@/gi;

const MASK = '***';

/** A shorter value would be masked in ordinary text. */
const SHORTEST = 4;

/**
 * Replaces keys, tokens and the credentials of URLs by `***`. `known` are values that are secret
 * whatever they look like. The same text always gives the same result, and masking it again changes nothing.
 */
export function maskSecrets(text: string, known: readonly string[] = []): string {
  const labelled = text.replace(
    LABELLED,
    (_, label: string, separator: string, scheme = '') => label + separator + scheme + MASK,
  );
  return maskKeys(labelled, known);
}

/**
 * Like `maskSecrets`, for texts such as source code, in which `password: string` is no secret: only
 * known values, and what is a key by its shape.
 */
export function maskKeys(text: string, known: readonly string[] = []): string {
  let masked = text;
  // the longest first: one may hold another, whose mask would leave the rest of it
  for (const secret of known.toSorted((a, b) => b.length - a.length)) {
    if (secret.length >= SHORTEST) masked = masked.replaceAll(secret, MASK);
  }
  masked = masked.replace(URL_CREDENTIALS, `$1${MASK}@`).replace(BEARER, `$1 ${MASK}`);
  for (const shape of KEY_SHAPES) masked = masked.replace(shape, MASK);
  return masked;
}
