import { cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ReasonixError } from '../../core/errors.ts';
import { type EvalFile, isWithin } from './evals.ts';

/** A folder for the runs of a test, gone when it is over. */
export async function makeTestFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'reasonix-test-')));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}

/**
 * The folder that one run works in, with copies of the files of its case. Links are copied as what they
 * lead to. @throws ReasonixError `skill_invalid` when one leads out of the folder of the skill.
 */
export async function makeWorkFolder(path: string, files: readonly EvalFile[], skillFolder: string): Promise<string> {
  await mkdir(path, { recursive: true });
  const base = await realpath(skillFolder);
  for (const { source, target } of files) {
    const copy = join(path, target);
    await mkdir(dirname(copy), { recursive: true });
    await cp(source, copy, {
      recursive: true,
      dereference: true,
      filter: async (from) => {
        if (isWithin(await realpath(from), base)) return true;
        throw new ReasonixError('skill_invalid', `${from} leads out of the folder of the skill`, {
          hint: 'copy what it leads to, or leave it out of "files"',
        });
      },
    });
  }
  return path;
}

/** Copies what a run left in its folder; links stay links, so that nothing from elsewhere is taken along. */
export async function keepOutputs(work: string, target: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  await cp(work, target, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (from) => basename(from) !== 'node_modules',
  });
}
