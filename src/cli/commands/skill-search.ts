import { searchSkills } from '../../skills/search.ts';
import type { Handler } from '../command.ts';
import type { skillSearchFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { dataColumns, note, print, printJson } from '../output.ts';
import { loadSkills } from '../skills.ts';
import { clipWidth, paintFor, printableLine } from '../terminal.ts';

export const skillSearch: Handler<typeof skillSearchFlags> = async ({ flags, args }) => {
  const { library } = await loadSkills(flags);
  const letters = [flags['ignore-case'] && 'i', flags.regexp && 'E', flags.word && 'w'].filter(Boolean).join('');
  const query = { pattern: args.join(' '), flags: letters === '' ? '' : `-${letters}`, limit: flags.limit };
  const found = await searchSkills(library, query);
  if (flags.json) {
    printJson(found);
    return EXIT.done;
  }
  const columns = dataColumns() ?? Number.POSITIVE_INFINITY;
  const paint = paintFor(process.stdout);
  for (const { name, run_as, description, snippet } of found.skills) {
    const tag = run_as === 'subagent' ? ' [subagent]' : '';
    print(paint('bold', clipWidth(printableLine(name) + tag, columns)));
    print(`  ${clipWidth(printableLine(snippet || description), columns - 2)}`);
  }
  if (found.note) note(printableLine(found.note));
  const more = found.truncated ? `, the first ${found.skills.length} shown; --limit shows more` : '';
  note(`${found.matched} of ${found.total} skills${more}`);
  return EXIT.done;
};
