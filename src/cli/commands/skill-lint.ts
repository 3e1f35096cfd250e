import { relative } from 'node:path';
import { libraryOptions } from '../../runtime/places.ts';
import { type FixedFile, lintSkills } from '../../skills/lint/lint.ts';
import { counted, type LintProblem } from '../../skills/lint/problem.ts';
import type { Handler } from '../command.ts';
import type { skillLintFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { dataColumns, note, print, printJson } from '../output.ts';
import { loadSettings, shortPath } from '../settings.ts';
import { clipWidth, type Paint, padWidth, paintFor, printable, printableLine, type Style } from '../terminal.ts';

/** Up to this many files the notes are shown too. */
const FEW_FILES = 20;

export const skillLint: Handler<typeof skillLintFlags> = async ({ flags, args }) => {
  const { config, folders } = await loadSettings(flags);
  const { files, problems, fixed } = await lintSkills({
    library: libraryOptions(config, folders),
    paths: args,
    strict: flags.strict,
    fix: flags.fix,
  });
  const failed = problems.some(({ severity }) => severity === 'error');
  if (flags.json) {
    const shown = problems.map(({ path, line, severity, code, message, fixable }) => ({
      path,
      line: line ?? null,
      severity,
      code,
      message,
      fixable,
    }));
    printJson({ files, problems: shown, fixed });
    return failed ? EXIT.failed : EXIT.done;
  }
  const paint = paintFor(process.stdout);
  const nameOf = (path: string): string => pathFrom(folders.cwd, path);
  for (const file of fixed) for (const line of fixedLines(file, nameOf, paint)) print(line);
  const withNotes = files <= FEW_FILES;
  const shown = problems.filter(({ severity }) => withNotes || severity !== 'info');
  for (const line of problemLines(shown, nameOf, paint)) print(line);
  note(paintFor(process.stderr)('dim', summary(files, problems, fixed.length, shown.length < problems.length)));
  return failed ? EXIT.failed : EXIT.done;
};

const STYLES: Record<LintProblem['severity'], Style> = { error: 'red', warning: 'yellow', info: 'dim' };

/** One heading a file, below it a line a problem: line, severity, what it is, code. */
function problemLines(problems: readonly LintProblem[], nameOf: (path: string) => string, paint: Paint): string[] {
  const files = new Map<string, LintProblem[]>();
  for (const problem of problems) files.set(problem.path, [...(files.get(problem.path) ?? []), problem]);
  return [...files].flatMap(([path, own]) => [
    paint('bold', nameOf(path)),
    ...own.map(({ line, severity, message, code, fixable }) => {
      const place = padWidth(line === undefined ? '' : String(line), 5);
      return `  ${place} ${paint(STYLES[severity], padWidth(severity, 7))} ${printableLine(message)}  ${paint('dim', fixable ? `${code}, fixable` : code)}`;
    }),
  ]);
}

function fixedLines({ path, edits }: FixedFile, nameOf: (path: string) => string, paint: Paint): string[] {
  const columns = dataColumns();
  const shown = (style: Style, mark: string, line: number, text: string): string => {
    const whole = `  ${padWidth(String(line), 5)} ${mark} ${printable(text)}`;
    return paint(style, columns === undefined ? whole : clipWidth(whole, columns));
  };
  return [
    `${paint('bold', nameOf(path))} repaired`,
    ...edits.flatMap(({ line, before, after }) => [
      ...before.map((text, index) => shown('red', '-', line + index, text)),
      ...after.map((text, index) => shown('green', '+', line + index, text)),
    ]),
  ];
}

/** Relative below the working folder, else as people write it. */
function pathFrom(cwd: string, path: string): string {
  const below = relative(cwd, path);
  return below === '' || below.startsWith('..') ? shortPath(path) : printableLine(below);
}

function summary(files: number, problems: readonly LintProblem[], fixed: number, hidesNotes: boolean): string {
  const count = (severity: LintProblem['severity']): number =>
    problems.filter((each) => each.severity === severity).length;
  const parts = [
    counted(files, 'skill file'),
    fixed > 0 ? `${fixed} repaired` : '',
    counted(count('error'), 'error'),
    counted(count('warning'), 'warning'),
    `${counted(count('info'), 'note')}${hidesNotes ? ' (see --json)' : ''}`,
  ];
  const fixable = problems.filter((each) => each.fixable).length;
  if (fixable > 0) parts.push(`--fix would repair ${fixable}`);
  return parts.filter((part) => part !== '').join(', ');
}
