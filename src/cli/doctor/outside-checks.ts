import type { LoadedConfig } from '../../config/cascade.ts';
import { trustedCommands } from '../../config/trust.ts';
import type { McpStatus } from '../../tools/mcp/servers.ts';
import type { Check } from './checks.ts';

/** Longest that all servers together are waited for, in milliseconds. */
const PATIENCE = 30_000;

const TRUST = 'look at it and allow it with: reasonix config trust';

/** MCP servers, which are started to see how they stand, and hooks, which are only named. What waits to be allowed is not started. */
export async function outsideChecks(loaded: LoadedConfig): Promise<Check[]> {
  const { mcp, hooks, commands } = trustedCommands(loaded);
  // what is wrong with a provider or the store, their own checks tell
  const waiting = commands.flatMap(({ kind, name, text, isTrusted }): Check[] => {
    if (isTrusted || (kind !== 'mcp' && kind !== 'hooks')) return [];
    const found = `${name}: ${text}; not started, a project's file asks for it`;
    return [{ name: kind === 'mcp' ? 'mcp' : 'hook', state: 'note', found, hint: TRUST }];
  });
  const told = hooks.map(({ name, on, match, command }): Check => {
    const about = match === undefined ? '' : ` of ${match.join(', ')}`;
    return { name: 'hook', state: 'ok', found: `${name}: ${command} (at ${on.join(', ')}${about})` };
  });
  return [...(await serverChecks(loaded, mcp)), ...told, ...waiting];
}

async function serverChecks({ folders }: LoadedConfig, settings: LoadedConfig['config']['mcp']): Promise<Check[]> {
  if (settings.length === 0) return [];
  const { McpServers } = await import('../../tools/mcp/servers.ts');
  const servers = new McpServers(settings, { env: process.env, cwd: folders.cwd });
  try {
    await servers.ready(PATIENCE);
    const off = settings.filter(({ enabled }) => enabled === false);
    return [
      ...servers.status().map(serverCheck),
      ...off.map(({ name }): Check => ({ name: 'mcp', state: 'ok', found: `${name}: switched off` })),
    ];
  } finally {
    await servers.close();
  }
}

/** A server that is away stops no run. */
function serverCheck({ name, state, tools, problem }: McpStatus): Check {
  if (state === 'ready') return { name: 'mcp', state: 'ok', found: `${name}: ready, ${tools} tools` };
  const why = state === 'failed' ? `did not start: ${problem}` : `has not answered within ${PATIENCE / 1000} s`;
  return {
    name: 'mcp',
    state: 'note',
    found: `${name}: ${why}`,
    hint: `check its [[mcp]] entry, or set mcp.${name}.enabled = false`,
  };
}
