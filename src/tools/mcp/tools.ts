import { createHash } from 'node:crypto';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from '../../core/errors.ts';
import { prompt } from '../../core/prompts.ts';
import { clipGraphemes, oneLine } from '../../core/text.ts';
import { alsoCalled } from '../../core/tool-names.ts';
import { parseArgumentsJson } from '../arguments-json.ts';
import type { ParsedArguments, Tool, ToolContext, ToolOutcome } from '../define-tool.ts';
import { isObject, type McpTool } from './listing.ts';
import type { McpServer } from './server.ts';

/** Longest name of a tool that every provider takes. */
const LONGEST_NAME = 64;

/** Most of a description that rides on every request, in graphemes. */
const LONGEST_DESCRIPTION = 1_024;

/**
 * `mcp__server__tool` in the characters that providers take. A name that is too long or had to be changed
 * ends in a hash of the whole, so that it stays the same and no two tools share one. A server's part has no
 * `__` in it and no `_` at its end: a rule for one server is none for another.
 */
export function mcpToolName(server: string, tool: string): string {
  const own = plain(server).replaceAll(/_{2,}/g, '_').replace(/_$/, '-');
  const name = `mcp__${own}__${plain(tool)}`;
  if (name.length <= LONGEST_NAME && own === server && plain(tool) === tool) return name;
  const hash = createHash('sha256').update(`${server}\n${tool}`).digest('hex').slice(0, 8);
  const changed = `${name.slice(0, LONGEST_NAME - hash.length - 1)}_${hash}`;
  const isApart = !server.includes('__') && !server.endsWith('_');
  alsoCalled(changed, [`mcp__${own}__${tool}`, ...(isApart ? [`mcp__${server}__${tool}`] : [])]);
  return changed;
}

const plain = (text: string): string => text.replaceAll(/[^a-zA-Z0-9_-]/g, '_');

/** The tools of a server as ours. What only reads, by the server's own word, runs beside other calls. */
export function toolsOf(server: McpServer): Tool[] {
  return server.tools.map((tool) => toolOf(server, tool));
}

function toolOf(server: McpServer, tool: McpTool): Tool {
  const parameters = parametersOf(tool.inputSchema);
  return {
    name: mcpToolName(server.name, tool.name),
    description: clipGraphemes(tool.description.trim().toWellFormed(), LONGEST_DESCRIPTION),
    parameters,
    effects: tool.isReadOnly ? 'read' : 'write',
    parse: (text) => parseObject(text, parameters),
    subject: (input) => oneLine(JSON.stringify(input)),
    execute: async (input, context) => outcomeOf(await callTool(server, tool.name, input, context)),
  };
}

/** Providers refuse a whole request for one schema that is not an object's. */
function parametersOf(schema: Record<string, unknown>): Record<string, unknown> {
  const { $schema, additionalProperties, type, properties, required, ...kept } = schema;
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  return {
    type: 'object',
    properties: isObject(properties) ? properties : {},
    ...(names.length > 0 ? { required: names } : {}),
    ...kept,
  };
}

function callTool(server: McpServer, tool: string, input: unknown, context: ToolContext): Promise<CallToolResult> {
  const { signal, progress } = context;
  return server.call(tool, input as Record<string, unknown>, { signal, onProgress: progress });
}

/** The server checks its own arguments; here they only have to be an object. */
function parseObject(text: string, parameters: Record<string, unknown>): ParsedArguments<unknown> {
  const refuse = (why: string): ParsedArguments<unknown> => ({
    ok: false,
    problem: prompt('arguments-not-json', { problem: why, shape: JSON.stringify(parameters) }),
  });
  try {
    const value = parseArgumentsJson(text);
    return isObject(value) ? { ok: true, input: value } : refuse('expected an object');
  } catch (error) {
    return refuse(messageOf(error));
  }
}

/** What a server answered, as one text and its pictures. Anything else is named, with its size. */
export function outcomeOf(result: CallToolResult): ToolOutcome {
  const texts: string[] = [];
  const images: NonNullable<ToolOutcome['images']> = [];
  for (const block of result.content ?? []) {
    if (block.type === 'text') texts.push(block.text);
    else if (block.type === 'image') images.push({ mediaType: block.mimeType, data: block.data });
    else if (block.type === 'resource' && 'text' in block.resource) texts.push(block.resource.text);
    else if (block.type === 'resource_link') texts.push(`${block.name}: ${block.uri}`);
    else texts.push(prompt('mcp-left-out', { what: describe(block) }));
  }
  if (texts.length === 0 && images.length === 0 && result.structuredContent !== undefined) {
    texts.push(JSON.stringify(result.structuredContent));
  }
  const content = texts.join('\n').toWellFormed();
  const isError = result.isError === true;
  return { content: content === '' && isError ? prompt('mcp-no-reason', {}) : content, isError, images };
}

function describe(block: { type: string; mimeType?: string; resource?: { uri: string } }): string {
  return [block.type, block.mimeType, block.resource?.uri].filter((part) => part !== undefined).join(' ');
}
