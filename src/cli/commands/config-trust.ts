import { type ProjectCommand, trustedCommands, trustProject } from '../../config/trust.ts';
import type { Handler } from '../command.ts';
import type { configTrustFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { note, print, printJson } from '../output.ts';
import { loadSettings, shortPath } from '../settings.ts';
import { confirmed, interruptible } from '../skill-install/context.ts';
import { printableLine } from '../terminal.ts';

export const configTrust: Handler<typeof configTrustFlags> = ({ flags }) =>
  interruptible(async (signal) => {
    const loaded = await loadSettings(flags);
    const { commands } = trustedCommands(loaded);
    const waiting = commands.filter(({ isTrusted }) => !isTrusted);
    const isTold = flags.json && (!flags.yes || waiting.length === 0);
    if (isTold) printJson({ commands });
    if (waiting.length === 0) {
      if (!flags.json)
        print(
          commands.length === 0 ? 'this project asks for nothing that needs your word' : 'all of it is allowed already',
        );
      return EXIT.done;
    }
    for (const command of waiting) note(describe(command));
    if (flags.json && !flags.yes) return EXIT.done;
    if (
      !(await confirmed(`Let this project do ${waiting.length === 1 ? 'it' : 'them all'} here?`, flags.yes, signal))
    ) {
      note('nothing was changed');
      return EXIT.failed;
    }
    const allowed = trustProject(loaded).map((command) => ({ ...command, isTrusted: true }));
    if (flags.json) printJson({ commands: allowed });
    else
      print(
        `allowed ${waiting.map(({ kind, name }) => printableLine(kind === 'store' ? name : `${kind}.${name}`)).join(', ')}`,
      );
    return EXIT.done;
  });

const KINDS = { mcp: 'MCP server', hooks: 'hook', providers: 'provider', store: 'address' } as const;

/** All of it is from a file that nobody vetted. */
const describe = ({ kind, name, text, place }: ProjectCommand): string =>
  `${KINDS[kind]} ${printableLine(name)}: ${printableLine(text)}\n  ${shortPath(place)}`;
