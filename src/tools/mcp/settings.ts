/** A server of the Model Context Protocol, as `[[mcp]]` and `.mcp.json` describe it. */
export interface McpServerSettings {
  name: string;
  /** A program that speaks MCP on its standard input and output. */
  command?: string | undefined;
  args?: string[] | undefined;
  /** Variables of its environment; `${NAME}` and `${NAME:-default}` stand for those of ours. */
  env?: Record<string, string> | undefined;
  /** Variables of our environment that it gets although they look like secrets. */
  pass_env?: string[] | undefined;
  cwd?: string | undefined;
  /** Or a server that speaks streamable HTTP. */
  url?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Default true. */
  enabled?: boolean | undefined;
  /** Wildcards over its tools' names; default all. */
  tools?: string[] | undefined;
  exclude_tools?: string[] | undefined;
  /** Only sub-agents of these skills get its tools; default every session. */
  skills?: string[] | undefined;
  /** Milliseconds to start; default 30,000. */
  start_timeout?: number | undefined;
  /** Milliseconds of one call; default 120,000. */
  call_timeout?: number | undefined;
}

/** Puts variables into a text as shells do; one that is not set is named to `onMissing` and left empty. */
export function expandVariables(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  onMissing: (name: string) => void,
): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_, name: string, other?: string) => {
    const value = env[name];
    if (value !== undefined && value !== '') return value;
    if (other === undefined) onMissing(name);
    return other ?? '';
  });
}
