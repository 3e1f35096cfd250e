import type { LoadedConfig } from '../config/cascade.ts';
import { trustedCommands } from '../config/trust.ts';
import { type Hooks, hooks } from '../middleware/hooks/hooks.ts';
import type { McpToolsOptions } from '../middleware/mcp-tools.ts';
import { McpServers } from '../tools/mcp/servers.ts';
import { keyVariables } from './folder-tools.ts';
import type { RuntimeOptions } from './options.ts';

/** MCP servers and hooks: programs of others that a runtime starts. */
export interface OutsideCommands {
  mcp: McpToolsOptions | undefined;
  hooks: Hooks | undefined;
  /** Ends what was started. */
  close(): Promise<void>;
}

/** Whether the caller vouches for all that the project's files say. */
export const isTrusted = ({ trustProject }: RuntimeOptions): boolean => trustProject === true;

/** What the configuration asks for and may run; what a project asks for and nobody allowed is named to `onProblem`. */
export function outsideCommands(parts: {
  options: RuntimeOptions;
  loaded: LoadedConfig;
  onProblem(text: string): void;
}): OutsideCommands {
  const { options, loaded, onProblem } = parts;
  const { config, folders } = loaded;
  const trusted = trustedCommands(loaded, isTrusted(options));
  // providers and the store say so themselves, when they are used
  const refused = trusted.commands.filter(({ kind, isTrusted }) => !isTrusted && (kind === 'mcp' || kind === 'hooks'));
  if (refused.length > 0) {
    const names = refused.map(({ kind, name }) => `${kind}.${name}`).join(', ');
    onProblem(`this project's files ask to run ${names}; that waits for your word: reasonix config trust`);
  }
  const env = options.env ?? process.env;
  const secrets = { keep: config.tools.keep_env, withhold: keyVariables(config) };
  const servers = new McpServers(trusted.mcp, { env, cwd: folders.cwd });
  const { mcp_wait: wait, search_above: searchAbove } = config.tools;
  const own =
    trusted.hooks.length === 0 ? undefined : hooks({ hooks: trusted.hooks, env: { ...env }, secrets, onProblem });
  return {
    mcp: servers.isEmpty ? undefined : { servers, wait, searchAbove },
    hooks: own,
    close: async () => {
      await own?.close();
      await servers.close();
    },
  };
}
