/**
 * One grant or refusal of tools: `shell(git *)`, `read_file`, `mcp__docs__*`. `tool` is our name and
 * may hold `*`; `pattern` matches the call's subject.
 */
export interface ToolRule {
  tool: string;
  pattern?: string | undefined;
}
