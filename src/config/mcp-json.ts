import { basename } from 'node:path';
import { messageOf } from '../core/errors.ts';
import type { ConfigValue } from './key-spec.ts';
import { type Layer, newLayer } from './layer.ts';
import type { ConfigNote } from './problems.ts';

/** Where other products keep a project's MCP servers. */
export const MCP_JSON = '.mcp.json';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads `.mcp.json` as entries of `[[mcp]]`. It belongs to other products, so that what it says beyond
 * them is passed over, and an entry that cannot be used is a note, never an error.
 */
export function readMcpJson(path: string, text: string): { layer: Layer; notes: ConfigNote[] } {
  const layer = newLayer('project', path);
  const notes: ConfigNote[] = [];
  const note = (message: string) => void notes.push({ message, path });
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch (error) {
    note(`is not JSON and was left out: ${messageOf(error)}`);
    return { layer, notes };
  }
  const servers = isObject(root) ? root.mcpServers : undefined;
  if (!isObject(servers)) {
    note('has no "mcpServers" object and was left out');
    return { layer, notes };
  }
  for (const [name, server] of Object.entries(servers)) {
    if (!isObject(server) || (typeof server.command !== 'string' && typeof server.url !== 'string') || name === '') {
      note(`the server ${JSON.stringify(name)} has neither a command nor a url and was left out`);
      continue;
    }
    if (typeof server.command === 'string' && typeof server.url === 'string') {
      note(`the server ${JSON.stringify(name)} has both a command and a url and was left out`);
      continue;
    }
    if (server.type === 'sse') {
      note(`the server ${JSON.stringify(name)} speaks the old SSE transport, which is not supported`);
      continue;
    }
    const set = (key: string[], value: ConfigValue): void => {
      const full = ['mcp', name, ...key];
      layer.values.set(full.join('.'), { key: full, value, tier: 'project', path });
    };
    for (const key of ['command', 'url', 'cwd'] as const) {
      const value = server[key];
      if (typeof value === 'string' && value !== '') set([key], value);
    }
    if (Array.isArray(server.args)) set(['args'], server.args.map(String));
    if (server.disabled === true) set(['enabled'], false);
    for (const key of ['env', 'headers'] as const) {
      const values = server[key];
      if (!isObject(values)) continue;
      for (const [variable, value] of Object.entries(values)) {
        if (typeof value === 'string') set([key, variable], value);
      }
    }
  }
  return { layer, notes };
}

/** Takes out of a `.mcp.json` the servers that `[[mcp]]` names as well: parts of two entries make none. */
export function leaveToSettings(layers: readonly Layer[], notes: ConfigNote[]): void {
  const isMcpJson = ({ path }: Layer) => path !== undefined && basename(path) === MCP_JSON;
  const namesIn = ({ values }: Layer) => [...values.values()].flatMap(({ key }) => (key[0] === 'mcp' ? [key[1]] : []));
  const known = new Set(layers.filter((layer) => !isMcpJson(layer)).flatMap(namesIn));
  for (const { values, path } of layers.filter(isMcpJson)) {
    const left = new Set<string | undefined>();
    for (const [full, { key }] of values) {
      if (!known.has(key[1])) continue;
      values.delete(full);
      left.add(key[1]);
    }
    for (const name of left)
      notes.push({ message: `the server ${JSON.stringify(name)} is an entry of [[mcp]], too, which counts`, path });
  }
}
