const SKIPPED: ReadonlySet<string> = new Set([
  'node_modules',
  'bower_components',
  '__pycache__',
  'venv',
  'references',
  'scripts',
  'assets',
]);
const LONGEST_SKIPPED = Math.max(...[...SKIPPED].map((name) => name.length));
const DOCUMENTS =
  /^(?:readme|changelog|contributing|license|licence|security|code_of_conduct|agents|claude|gemini|notice|authors|todo)(?:[._-].*)?\.md$/i;

/** Whether folders of this name hold no skills. Asked for every folder: a regular expression would cost a tenth of a warm start. */
export function isSkipped(name: string): boolean {
  return name.startsWith('.') || (name.length <= LONGEST_SKIPPED && SKIPPED.has(name.toLowerCase()));
}

/** Asked for every entry of every folder, so that letters are made small for names of that length only. */
export function isSkillFile(name: string): boolean {
  return name.length === 'skill.md'.length && name.toLowerCase() === 'skill.md';
}

/** Usual company of skills that is never one itself, unless its front matter says so. */
export const isDocument = (name: string): boolean => DOCUMENTS.test(name);
