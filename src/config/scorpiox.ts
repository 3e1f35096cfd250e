import { assignText, type PathBase } from './assign.ts';
import { type Layer, newLayer } from './layer.ts';
import { nearestName, outerName } from './names.ts';
import type { ConfigNote, Problem, Tier } from './problems.ts';
import { parseBoolean } from './values.ts';

export interface ScorpioxFile extends PathBase {
  path: string;
  text: string;
  tier: Tier;
}

export interface ScorpioxLayer {
  layer: Layer;
  problems: Problem[];
  notes: ConfigNote[];
}

/**
 * Reads a `scorpiox-env.txt` or one of its profiles: `KEY=VALUE` lines, `#` comments. Most keys of
 * that product mean nothing here: they are left alone, with one note a file. An empty value is unset.
 */
export function readScorpiox(file: ScorpioxFile): ScorpioxLayer {
  const layer = newLayer(file.tier, file.path);
  const problems: Problem[] = [];
  const notes: ConfigNote[] = [];
  const ignored: string[] = [];
  for (const [index, source] of file.text.split(/\r\n|\r|\n/).entries()) {
    const text = source.trim();
    if (text === '' || text.startsWith('#')) continue;
    const line = index + 1;
    const equals = text.indexOf('=');
    if (equals < 1) {
      notes.push({ message: 'this line is no KEY=VALUE and was ignored', path: file.path, line });
      continue;
    }
    const name = text.slice(0, equals).trim();
    const value = text.slice(equals + 1).trim();
    const named = outerName(name);
    if (!named || (named.kind === 'switch' && value !== '' && parseBoolean(value) === undefined)) {
      const suggestion = named ? undefined : nearestName(name);
      if (suggestion) {
        notes.push({ message: `${name} is not known here; did you mean ${suggestion}?`, path: file.path, line });
      } else ignored.push(name);
      continue;
    }
    const place = { tier: file.tier, path: file.path, line, name };
    problems.push(...assignText(layer, named, value, place, file));
  }
  if (ignored.length > 0) {
    notes.push({ message: `keys without a meaning here were ignored: ${ignored.join(', ')}`, path: file.path });
  }
  return { layer, problems, notes };
}
