import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** The source files that importing `entry` loads, itself included; what is imported on demand is not. */
export function staticImports(entry: string): Set<string> {
  const found = new Set([resolve(entry)]);
  for (const file of found) {
    const text = readFileSync(file, 'utf8');
    for (const [, from] of text.matchAll(/^(?:import|export) (?!type\b)[^;]*?from '(\.[^']+)';/gm)) {
      found.add(resolve(dirname(file), from ?? ''));
    }
  }
  return found;
}
