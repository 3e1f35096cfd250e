import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { archiveTree } from './archive.ts';
import type { FetchContext } from './git-source.ts';
import { LIMITS, sizeText } from './limits.ts';
import { refused } from './refused.ts';
import type { Source } from './source.ts';
import type { SourceTree } from './tree.ts';

/**
 * The files of a package, by `npm pack`: by the user's own registry and credentials, with no script of
 * the package run. The project's `.npmrc` does not count.
 */
export async function npmTree(
  source: Extract<Source, { kind: 'npm' }>,
  { folder, signal }: FetchContext,
): Promise<SourceTree> {
  const { execa } = await import('execa');
  const packed = join(folder, 'packed');
  await mkdir(packed);
  const deadline = AbortSignal.timeout(LIMITS.fetchTime);
  const args = [
    'pack',
    '--ignore-scripts',
    '--loglevel=error',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
    '--pack-destination',
    packed,
    '--',
    source.spec,
  ];
  try {
    await execa('npm', args, {
      cwd: folder,
      cancelSignal: AbortSignal.any([signal, deadline]),
      forceKillAfterDelay: 1_000,
      stdin: 'ignore',
      windowsHide: true,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw npmProblem(error, source.spec, deadline.aborted);
  }
  const [file] = (await readdir(packed)).filter((name) => name.endsWith('.tgz'));
  if (file === undefined) throw refused(`npm packed nothing for ${source.spec}`, 'check the name of the package');
  const path = join(packed, file);
  const { size } = await stat(path);
  if (size > LIMITS.totalBytes)
    throw refused(`${source.spec} has ${sizeText(size)}, more than ${sizeText(LIMITS.totalBytes)}`);
  return archiveTree(await readFile(path), file);
}

function npmProblem(error: unknown, spec: string, late: boolean): Error {
  const { code, stderr, stdout } = error as { code?: string; stderr?: unknown; stdout?: unknown };
  if (code === 'ENOENT')
    return refused('npm is not installed, or not on the PATH', 'install npm, or use another source', error);
  if (late) return refused(`${spec} was not fetched within ${LIMITS.fetchTime / 1_000} s`, 'try again', error);
  const said = `${stderr ?? ''}\n${stdout ?? ''}`;
  // `npm error 404 Not Found - GET …`, in older versions `npm ERR!`; the first lines say what, the others what to try
  const lines = said.match(/^npm (?:error|ERR!) (?!A complete log).*$/gm) ?? [];
  const told = lines.map((line) => line.replace(/^npm \S+ (?:code |notarget |404 ?)?/, '').trim()).filter(Boolean);
  const why = told.slice(0, 2).join(': ') || messageOf(error).split('\n')[0];
  return refused(`${spec} could not be fetched from npm: ${why}`, 'check the name and the version', error);
}
