import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { messageOf } from '../core/errors.ts';
import { fileState, realPath } from './folders.ts';
import { judgeName, normalName } from './names.ts';
import { isExcluded } from './roots.ts';
import type { Seen } from './seen.ts';

export const PLUGIN_FOLDER = '.claude-plugin';

/** A folder of another product that bundles skills and agents. */
export interface Plugin {
  /** Goes before the names of its skills, with a colon. */
  name: string;
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
    [usual, ...pathsOf(named)].flatMap((path) => {
      const absolute = resolve(folder, path);
      seen?.place(absolute);
      return inside(folder, absolute, path, problems);
    });
  return {
    name: pluginName(written.name, folder, problems),
    skills: paths('skills', written.skills),
    agents: paths('agents', written.agents),
    problems,
    manifest,
  };
}

function readManifest(file: string, problems: string[]): Record<string, unknown> {
  try {
    const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    problems.push('plugin.json holds no object');
  } catch (error) {
    problems.push(`plugin.json cannot be read: ${messageOf(error)}`);
  }
  return {};
}

function pluginName(written: unknown, folder: string, problems: string[]): string {
  const fromFolder = normalName(basename(folder));
  if (written === undefined) return fromFolder;
  const name = typeof written === 'string' ? normalName(written) : '';
  const verdict = judgeName(name);
  if (verdict.use !== 'no' && !name.includes(':')) return name;
  problems.push(`the plugin's name cannot be used: "${fromFolder}" is used instead`);
  return fromFolder;
}

function pathsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

/** A plugin brings its own files only: paths that lead out of its folder are refused. */
function inside(folder: string, absolute: string, path: string, problems: string[]): string[] {
  if (isExcluded(realPath(absolute), [realPath(folder)])) return [absolute];
  problems.push(`plugin.json names a path outside the plugin: ${path}`);
  return [];
}
