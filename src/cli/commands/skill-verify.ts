import { verifyInstalled } from '../../skills/install/verify.ts';
import type { Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';
import { note, print, printJson } from '../output.ts';
import { loadSettings, shortPath } from '../settings.ts';
import { placesOf } from '../skill-install/context.ts';
import type { skillVerifyFlags } from '../skill-install/flags.ts';
import { paintFor, printableLine } from '../terminal.ts';

export const skillVerify: Handler<typeof skillVerifyFlags> = async ({ flags }) => {
  const loaded = await loadSettings(flags);
  const results = (await Promise.all(placesOf(flags.scope, loaded).map((place) => verifyInstalled(place)))).flat();
  const bad = results.filter(({ status }) => status !== 'ok');
  if (flags.json) {
    printJson({ ok: bad.length === 0, skills: results });
    return bad.length === 0 ? EXIT.done : EXIT.failed;
  }
  const paint = paintFor(process.stdout);
  for (const { name, status, path, message } of results) {
    const state = status === 'ok' ? paint('green', 'ok') : paint('red', status);
    print(`${state}  ${printableLine(name)}  ${shortPath(path)}${message === '' ? '' : `: ${printableLine(message)}`}`);
  }
  note(
    bad.length === 0
      ? `${plural(results.length, 'installed skill')}, all as installed`
      : `${bad.length} of ${plural(results.length, 'installed skill')} not as installed`,
  );
  return bad.length === 0 ? EXIT.done : EXIT.failed;
};
