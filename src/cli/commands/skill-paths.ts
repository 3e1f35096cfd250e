import type { Handler } from '../command.ts';
import type { skillShowFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { dataColumns, print, printJson } from '../output.ts';
import { shortPath } from '../settings.ts';
import { loadSkills } from '../skills.ts';
import { paintFor, table } from '../terminal.ts';

export const skillPaths: Handler<typeof skillShowFlags> = async ({ flags }) => {
  const { library } = await loadSkills(flags);
  if (flags.json) {
    printJson({ roots: library.roots });
    return EXIT.done;
  }
  const rows = library.roots.map(({ path, scope, status, found }) => [
    scope === 'builtin' ? 'built-in' : scope,
    status.replaceAll('-', ' '),
    status === 'ok' ? String(found) : '',
    shortPath(path),
  ]);
  const [head = '', ...lines] = table(['SCOPE', 'STATE', 'SKILLS', 'FOLDER'], rows, dataColumns());
  print(paintFor(process.stdout)('bold', head));
  for (const line of lines) print(line);
  return EXIT.done;
};
