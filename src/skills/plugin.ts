import { basename, join, resolve } from 'node:path';
import { fileState, realPath } from './folders.ts';
import { readManifest, textsOf } from './manifest.ts';
import { judgeName, normalName } from './names.ts';
import { isExcluded } from './roots.ts';
import type { Seen } from './seen.ts';

export const PLUGIN_FOLDER = '.claude-plugin';

/** A folder of another product that bundles skills and agents. */
export interface Plugin {
  /** Goes before the names of its skills, with a colon. */
  name: string;
  /** Where it lies. */
  folder: string;
  /** Its folder may be a skill itself. */
  isWhole: boolean;
  /** Absolute paths of folders (and, for agents, single files), the usual ones first. */
  skills: string[];
  agents: string[];
  problems: string[];
  manifest: string;
}

/** The plugin that lives in `folder`; `undefined` when none does. A broken manifest is a problem, not the end. */
export function readPlugin(folder: string, seen?: Seen): Plugin | undefined {
  const manifest = join(folder, PLUGIN_FOLDER, 'plugin.json');
  const state = fileState(manifest);
  seen?.file(manifest, state, Date.now());
  if (state === undefined) return undefined;
  const problems: string[] = [];
  const written = readManifest(manifest, problems);
  const paths = (usual: string, named: unknown): string[] =>
    [usual, ...textsOf(named)].flatMap((path) => inside(resolve(folder, path), folder, path, problems, seen));
  return {
    name: pluginName(written.name, basename(folder), problems),
    folder,
    isWhole: true,
    skills: paths('skills', written.skills),
    agents: paths('agents', written.agents),
    problems,
    manifest,
  };
}

/** The name that was written, when skills can be called by it. */
export function pluginName(written: unknown, otherwise: string, problems: string[]): string {
  const fallback = normalName(otherwise);
  if (written === undefined) return fallback;
  const name = typeof written === 'string' ? normalName(written) : '';
  const verdict = judgeName(name);
  if (verdict.use !== 'no' && !name.includes(':')) return name;
  problems.push(`the plugin's name cannot be used: "${fallback}" is used instead`);
  return fallback;
}

/** A plugin brings its own files only: a path that leads out of `folder` is refused. */
export function inside(
  absolute: string,
  folder: string,
  written: string,
  problems: string[],
  seen: Seen | undefined,
): string[] {
  seen?.place(absolute);
  if (isExcluded(realPath(absolute), [realPath(folder)])) return [absolute];
  problems.push(`names a path outside the plugin: ${written}`);
  return [];
}
