/** Case and width folded, so that `ＡＢ`, `AB` and `ab` are one. */
export const fold = (text: string): string => text.normalize('NFKC').toLowerCase();

/** Scripts that write words without blanks between them. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]/u;

const TOKEN = /[\p{L}\p{N}\p{M}_]+/gu;

/**
 * The words of a pattern. A run in a script without blanks is looked for as a whole; when it is longer
 * than a word usually is, its pairs of characters count as words of their own.
 */
export function wordsOf(pattern: string): string[] {
  const words = new Set<string>();
  for (const [token] of fold(pattern).matchAll(TOKEN)) {
    const characters = [...token];
    if (!UNSPACED.test(token) || characters.length <= 2) {
      words.add(token);
      continue;
    }
    for (let index = 0; index + 1 < characters.length; index++)
      words.add(`${characters[index]}${characters[index + 1]}`);
  }
  // A pattern of signs alone, such as `C++` without letters or `->`, is its own word.
  if (words.size === 0 && pattern.trim() !== '') words.add(fold(pattern.trim()));
  return [...words];
}

const isWordCharacter = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}\p{M}_]/u.test(character);

/** Position of `word` in a folded text, from `start` on; with `whole`, only where it stands alone. */
export function indexOfWord(text: string, word: string, whole: boolean, start = 0): number {
  for (let at = text.indexOf(word, start); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!whole) return at;
    const before = [...text.slice(Math.max(0, at - 2), at)].at(-1);
    const after = [...text.slice(at + word.length, at + word.length + 2)][0];
    const starts = !isWordCharacter(word[0]) || !isWordCharacter(before);
    const ends = !isWordCharacter(word.at(-1)) || !isWordCharacter(after);
    if (starts && ends) return at;
  }
  return -1;
}
