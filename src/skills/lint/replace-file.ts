import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ReasonixError } from '../../core/errors.ts';

/**
 * Puts new content in the place of what was read, at once and with the file's mode; a link stays one.
 * @throws ReasonixError `skill_invalid` when the file changed meanwhile; the file system's error when
 * it cannot be written.
 */
export async function replaceFile(file: string, before: Uint8Array, after: Uint8Array): Promise<void> {
  const real = await realpath(file);
  // a rename would get past the write protection of the file
  await access(real, constants.W_OK);
  const { mode } = await stat(real);
  const temporary = join(dirname(real), `.${basename(real).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`);
  const handle = await open(temporary, 'wx', mode & 0o7777);
  try {
    try {
      await handle.chmod(mode & 0o7777);
      await handle.writeFile(after);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (!(await readFile(real)).equals(before)) {
      throw new ReasonixError('skill_invalid', `${file} changed while it was looked at`, { hint: 'run it again' });
    }
    await rename(temporary, real);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}
