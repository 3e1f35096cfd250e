import { basename, join, resolve } from 'node:path';
import { fileState, kindOf } from './folders.ts';
import { readManifest, recordOf, textsOf } from './manifest.ts';
import { inside, PLUGIN_FOLDER, type Plugin, pluginName, readPlugin } from './plugin.ts';
import type { Seen } from './seen.ts';

/** A list of plugins, most of them folders of the same repository. */
export interface Marketplace {
  plugins: Plugin[];
  problems: string[];
  /** Names of plugins that lie in other repositories, with the place where that is known. */
  elsewhere: string[];
  manifest: string;
}

/** The list in `folder`; `undefined` when there is none. Never throws: what cannot be read is a problem. */
export function readMarketplace(folder: string, seen?: Seen): Marketplace | undefined {
  const manifest = join(folder, PLUGIN_FOLDER, 'marketplace.json');
  const state = fileState(manifest);
  seen?.file(manifest, state, Date.now());
  if (state === undefined) return undefined;
  const market: Marketplace = { plugins: [], problems: [], elsewhere: [], manifest };
  const written = readManifest(manifest, market.problems);
  const root = recordOf(written.metadata)?.pluginRoot;
  const entries = Array.isArray(written.plugins) ? written.plugins : [];
  if (entries.length === 0 && market.problems.length === 0) market.problems.push('names no plugins');
  for (const entry of entries.map(recordOf)) {
    if (entry !== undefined) addPlugin(market, entry, { folder, root: typeof root === 'string' ? root : '', seen });
  }
  return market;
}

interface Place {
  folder: string;
  /** Goes before sources that are no path of their own. */
  root: string;
  seen: Seen | undefined;
}

function addPlugin(market: Marketplace, entry: Record<string, unknown>, { folder, root, seen }: Place): void {
  const label = typeof entry.name === 'string' ? entry.name : 'without a name';
  const { source = './' } = entry;
  if (typeof source !== 'string' || /^[\w+.-]+:\/\/|^git@/.test(source)) {
    market.elsewhere.push(`${label}${placeOf(source)}`);
    return;
  }
  const isBare = root !== '' && !/^\.{1,2}(?:\/|$)/.test(source);
  const candidates = [...(isBare ? [resolve(folder, root, source)] : []), resolve(folder, source)];
  for (const path of candidates) seen?.place(path);
  const own = candidates.find((path) => kindOf(path) === 'folder');
  if (own === undefined) {
    market.problems.push(`the plugin ${JSON.stringify(label)} has no folder ${source}`);
    return;
  }
  if (inside(own, folder, source, market.problems, seen).length === 0) return;
  const problems: string[] = [];
  const manifest = readPlugin(own, seen);
  // What the list says of a plugin is the whole of it: of several in one folder each has its own skills.
  const paths = (kind: 'skills' | 'agents'): string[] =>
    entry[kind] === undefined
      ? (manifest?.[kind] ?? [join(own, kind)])
      : textsOf(entry[kind]).flatMap((path) => inside(resolve(own, path), folder, path, problems, seen));
  const plugin: Plugin = {
    name: pluginName(entry.name, manifest?.name ?? basename(own), problems),
    folder: own,
    isWhole: entry.skills === undefined,
    skills: paths('skills'),
    agents: paths('agents'),
    problems: [],
    manifest: market.manifest,
  };
  for (const path of [...plugin.skills, ...plugin.agents]) seen?.place(path);
  market.problems.push(...problems);
  market.plugins.push(plugin);
}

function placeOf(source: unknown): string {
  if (typeof source === 'string') return ` (${source})`;
  const { repo, url, package: name } = recordOf(source) ?? {};
  const place = [repo, url, name].find((each) => typeof each === 'string');
  return place === undefined ? '' : ` (${place})`;
}
