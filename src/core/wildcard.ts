/**
 * Wildcards in linear space and at most quadratic time, since patterns come from files that nobody
 * vetted: `*` is any run of characters, `?` one, everything else stands for itself.
 */
export function wildcardMatches(pattern: string, text: string): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  let position = 0;
  while (position < text.length) {
    const sign = pattern[at];
    if (sign === '*') {
      star = at++;
      resume = position;
    } else if (sign === '?' || sign === text[position]) {
      at++;
      position++;
    } else if (star >= 0) {
      at = star + 1;
      position = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}

/** Paths with `/`: `*` and `?` stay inside one segment, `**` spans any number, none too, `{a,b}` is either. */
export function pathMatches(pattern: string, path: string): boolean {
  const segments = path.split('/');
  return expandBraces(pattern).some((each) => segmentsMatch(each.split('/'), segments));
}

function segmentsMatch(pattern: readonly string[], path: readonly string[]): boolean {
  // reachable[i]: the pattern so far can end after the first i segments of the path
  let reachable = path.map(() => false);
  reachable.unshift(true);
  for (const segment of pattern) {
    const next = reachable.map(() => false);
    if (segment === '**') {
      const first = reachable.indexOf(true);
      if (first >= 0) next.fill(true, first);
    } else {
      for (const [at, part] of path.entries()) {
        if (reachable[at] && wildcardMatches(segment, part)) next[at + 1] = true;
      }
    }
    reachable = next;
  }
  return reachable[path.length] === true;
}

const MAX_ALTERNATIVES = 64;

function expandBraces(pattern: string): string[] {
  let open = [pattern];
  const done: string[] = [];
  while (open.length > 0 && open.length + done.length <= MAX_ALTERNATIVES) {
    const next: string[] = [];
    for (const each of open) {
      const brace = /\{([^{}]*,[^{}]*)\}/.exec(each);
      if (!brace) {
        done.push(each);
        continue;
      }
      const before = each.slice(0, brace.index);
      const after = each.slice(brace.index + brace[0].length);
      for (const choice of brace[1]?.split(',') ?? []) next.push(before + choice + after);
    }
    open = next;
  }
  return done;
}
