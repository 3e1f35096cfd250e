import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { isObject } from '../../core/is-object.ts';

/** Most tools that are taken from one server, and pages of its list that are asked for. */
const MOST_TOOLS = 1_000;
const MOST_PAGES = 50;

/** A tool of a server, with what cannot be used of its definition left out. */
export interface McpTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  isReadOnly: boolean;
}

/**
 * The tools of a server, each name once. Read more leniently than the SDK does: one tool with a schema
 * that is none must not take the others away, and what a tool promises of its output is not held against it.
 * @param timeout milliseconds for all of its pages.
 */
export async function listTools(
  client: Client,
  isWanted: (name: string) => boolean,
  timeout: number,
): Promise<McpTool[]> {
  if (!client.getServerCapabilities()?.tools) return [];
  const { ResultSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const found = new Map<string, McpTool>();
  const seen = new Set<string>();
  const end = performance.now() + timeout;
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES && found.size < MOST_TOOLS; page++) {
    const request = { method: 'tools/list', ...(cursor === undefined ? {} : { params: { cursor } }) };
    const { tools, nextCursor } = await client.request(request as never, ResultSchema, {
      timeout: Math.max(1, end - performance.now()),
    });
    if (!Array.isArray(tools)) throw new Error('its answer to tools/list holds no list of tools');
    for (const each of tools) {
      const tool = usable(each);
      if (tool && isWanted(tool.name) && !found.has(tool.name)) found.set(tool.name, tool);
    }
    if (typeof nextCursor !== 'string' || seen.has(nextCursor)) break;
    cursor = nextCursor;
    seen.add(cursor);
  }
  return [...found.values()].slice(0, MOST_TOOLS);
}

function usable(value: unknown): McpTool | undefined {
  if (!isObject(value) || typeof value.name !== 'string' || value.name === '') return undefined;
  const { name, title, description, inputSchema, annotations } = value;
  const text = [description, title].find((each) => typeof each === 'string' && each !== '');
  return {
    name,
    description: String(text ?? ''),
    inputSchema: isObject(inputSchema) ? inputSchema : {},
    isReadOnly: isObject(annotations) && annotations.readOnlyHint === true,
  };
}
