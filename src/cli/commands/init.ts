import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, ReasonixError } from '../../core/errors.ts';
import { projectRoot } from '../../runtime/places.ts';
import { createSkill } from '../../skills/create.ts';
import type { Handler } from '../command.ts';
import type { initFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { EXAMPLE_SKILL, starterToml } from '../init-files.ts';
import { note, print } from '../output.ts';
import { loadSettings, shortPath } from '../settings.ts';

export const init: Handler<typeof initFlags> = async ({ flags }) => {
  const { folders } = await loadSettings(flags);
  const folder = projectRoot(folders.cwd);
  await writeNew(join(folder, 'reasonix.toml'), await starterToml(process.env));
  const root = join(folder, '.reasonix', 'skills');
  const skillPath = join(root, EXAMPLE_SKILL.name, 'SKILL.md');
  if (existsSync(dirname(skillPath))) note(`kept ${shortPath(skillPath)}`);
  else print(`wrote ${shortPath(await createSkill({ root, ...EXAMPLE_SKILL }))}`);
  note('next: reasonix doctor');
  note(`then: reasonix run "/${EXAMPLE_SKILL.name} what does this project do?"`);
  return EXIT.done;
};

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: 'wx' });
    print(`wrote ${shortPath(path)}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      note(`kept ${shortPath(path)}`);
      return;
    }
    throw new ReasonixError('config', `${path} cannot be written: ${messageOf(error)}`, {
      hint: 'make the folder writable',
      cause: error,
    });
  }
}
