import {
  type ConfigEntry,
  explainKey,
  getKey,
  listKeys,
  type ShownValue,
  type TierValue,
} from '../../config/explain.ts';
import type { Handler } from '../command.ts';
import type { readFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { dataColumns, note, print, printJson } from '../output.ts';
import { loadSettings, shortPath } from '../settings.ts';
import { paintFor, printableLine, table, wrap } from '../terminal.ts';

export const configGet: Handler<typeof readFlags> = async ({ flags, args }) => {
  const loaded = await loadSettings(flags);
  const { key, value, tier, path } = getKey(loaded, args[0]!);
  if (flags.json) printJson({ key, value, tier, path });
  else print(plainText(value));
  return EXIT.done;
};

export const configList: Handler<typeof readFlags> = async ({ flags }) => {
  const loaded = await loadSettings(flags);
  const entries = listKeys(loaded);
  if (flags.json) {
    printJson({ keys: entries, files: loaded.files, notes: loaded.notes });
    return EXIT.done;
  }
  const rows = entries.map((entry) => [entry.key, shown(entry.value), placeOf(entry)]);
  const [head = '', ...lines] = table(['KEY', 'VALUE', 'FROM'], rows, dataColumns());
  const paint = paintFor(process.stdout);
  print(paint('bold', head));
  for (const [index, line] of lines.entries()) print(entries[index]?.tier === 'default' ? paint('dim', line) : line);
  for (const { message, path, line } of loaded.notes) {
    note(`note: ${path ? `${shortPath(path)}${line ? `:${line}` : ''}: ` : ''}${printableLine(message)}`);
  }
  return EXIT.done;
};

export const configExplain: Handler<typeof readFlags> = async ({ flags, args }) => {
  const loaded = await loadSettings(flags);
  const explanation = explainKey(loaded, args[0]!);
  if (flags.json) {
    printJson(explanation);
    return EXIT.done;
  }
  const { key, doc, expects, names, values } = explanation;
  const paint = paintFor(process.stdout);
  const columns = dataColumns();
  print(`${paint('bold', key)} = ${shown(explanation.value)}`);
  for (const line of wrap(doc, columns ?? Number.POSITIVE_INFINITY)) print(line);
  print(`Takes ${expects}.${names.length > 0 ? ` Also known as ${names.join(', ')}.` : ''}`);
  print('');
  const rows = values.map((value) => [value.wins ? '*' : '', value.tier, shown(value.value), tierPlace(value)]);
  for (const line of table(['', 'TIER', 'VALUE', 'WHERE'], rows, columns)) print(line);
  return EXIT.done;
};

function tierPlace({ path, line, name, added }: TierValue): string {
  const file = path === null ? '' : `${shortPath(path)}${line === null ? '' : `:${line}`}`;
  return [file, name ?? '', added ? '(added)' : ''].filter((part) => part !== '').join(' ');
}

const placeOf = ({ tier, path }: ConfigEntry): string => (path === null ? tier : `${tier} ${shortPath(path)}`);

const shown = (value: ShownValue): string =>
  value === null ? '-' : printableLine(plainText(value)).replaceAll('\n', ' ');

/** A text or number as it is, a list an item a line, anything else as JSON. */
function plainText(value: ShownValue): string {
  if (value === null) return '';
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join('\n');
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}
