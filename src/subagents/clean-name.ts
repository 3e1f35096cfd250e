/** Drops `[subagent]`, list dashes, a leading slash, quotes and punctuation around, and what follows a blank. */
export function cleanName(name: string): string {
  const bare = name.replace(/\[[^\]]*\]/gu, ' ').replace(/^[\s\-*/`"']+/u, '');
  const word = bare.split(/:\s/u)[0]?.trim().split(/\s/u)[0] ?? '';
  return word.replace(/[`"':.,;!]+$/u, '');
}
