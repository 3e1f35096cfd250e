import { getKey } from '../../config/explain.ts';
import { setKey } from '../../config/set.ts';
import { ReasonixError } from '../../core/errors.ts';
import type { Handler } from '../command.ts';
import type { configSetFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { note, print, printJson } from '../output.ts';
import { loadOptions, loadSettings, shortPath } from '../settings.ts';

export const configSet: Handler<typeof configSetFlags> = async ({ flags, args }) => {
  const [name = '', value = ''] = args;
  const scope = flags.scope ?? 'project';
  const result = await setKey(name, value, { ...loadOptions(flags), scope });
  if (flags.json) printJson({ ...result, line: result.line ?? null });
  else
    print(
      `${result.line === undefined ? 'removed' : 'set'} ${result.key} in ${shortPath(result.path)}${result.line ? `:${result.line}` : ''}`,
    );
  await warnWhenOverruled(flags, result.key, result.path);
  return EXIT.done;
};

/** The file was written; a stronger place, or a fault elsewhere, may still keep it from counting. */
async function warnWhenOverruled(flags: Parameters<typeof loadOptions>[0], key: string, path: string): Promise<void> {
  try {
    const now = getKey(await loadSettings(flags), key);
    if (now.path !== path && now.tier !== 'default') {
      note(
        `note: ${now.tier}${now.path ? ` ${shortPath(now.path)}` : ''} still wins; see: reasonix config explain ${key}`,
      );
    }
  } catch (error) {
    if (!ReasonixError.isInstance(error)) throw error;
    note(`note: the configuration as a whole does not hold yet: ${error.message}`);
  }
}
