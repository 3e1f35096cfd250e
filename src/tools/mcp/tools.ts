import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from '../../core/errors.ts';
import { isObject } from '../../core/is-object.ts';
import { prompt } from '../../core/prompts.ts';
import { shortHash } from '../../core/short-hash.ts';
import { clipGraphemes, oneLine } from '../../core/text.ts';
import { alsoCalled } from '../../core/tool-names.ts';
import { parseArgumentsJson } from '../arguments-json.ts';
import type { ParsedArguments, Tool, ToolContext, ToolOutcome } from '../define-tool.ts';
import type { McpTool } from './listing.ts';
import { parametersOf } from './parameters.ts';
import { withOwnNames, withSafeNames } from './property-names.ts';
import type { McpServer } from './server.ts';

/** Longest name of a tool that every provider takes. */
const LONGEST_NAME = 64;

/** Characters of the hash at the end of a name that was changed. */
const HASH = 8;

/** Most of a description that rides on every request, in graphemes. */
const LONGEST_DESCRIPTION = 1_024;

/**
 * `mcp__server__tool` in the characters that providers take. A name that is too long or had to be changed
 * ends in a hash of the whole, so that it stays the same and no two tools share one. A server's part has no
 * `__` in it and no `_` at its end: a rule for one server is none for another.
 */
export function mcpToolName(server: string, tool: string): string {
  const own = serverPart(server);
  const name = `mcp__${own}__${plain(tool)}`;
  if (name.length <= LONGEST_NAME && own === server && plain(tool) === tool) return name;
  const hash = shortHash(`${server}\n${tool}`, HASH);
  const changed = `${name.slice(0, LONGEST_NAME - hash.length - 1)}_${hash}`;
  const isApart = !server.includes('__') && !server.endsWith('_');
  alsoCalled(changed, [`mcp__${own}__${tool}`, ...(isApart ? [`mcp__${server}__${tool}`] : [])]);
  return changed;
}

/** Whether a tool of this name is one of the server's. */
export const isToolOf = (server: string, name: string): boolean => {
  const start = `mcp__${serverPart(server)}__`;
  return name.startsWith(start.slice(0, LONGEST_NAME - HASH - 1));
};

const serverPart = (server: string): string => plain(server).replaceAll(/_{2,}/g, '_').replace(/_$/, '-');

const plain = (text: string): string => text.replaceAll(/[^a-zA-Z0-9_-]/g, '_');

/** The tools of a server as ours. What only reads, by the server's own word, runs beside other calls. */
export function toolsOf(server: McpServer): Tool[] {
  return server.tools.map((tool) => toolOf(server, tool));
}

function toolOf(server: McpServer, tool: McpTool): Tool {
  const parameters = withSafeNames(parametersOf(tool.inputSchema));
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

function callTool(server: McpServer, tool: string, input: unknown, context: ToolContext): Promise<CallToolResult> {
  const { signal, progress } = context;
  return server.call(tool, input as Record<string, unknown>, { signal, onProgress: progress });
}

/** The server checks its own arguments; here they only have to be an object. */
export function parseObject(text: string, parameters: Record<string, unknown>): ParsedArguments<unknown> {
  const refuse = (why: string): ParsedArguments<unknown> => ({
    ok: false,
    problem: prompt('arguments-not-json', { problem: why, shape: JSON.stringify(parameters) }),
  });
  try {
    const value = parseArgumentsJson(text);
    return isObject(value) ? { ok: true, input: withOwnNames(parameters, value) } : refuse('expected an object');
  } catch (error) {
    return refuse(messageOf(error));
  }
}

type Block = CallToolResult['content'][number];

/** What a server answered, as one text and its pictures. Anything else is named. */
export function outcomeOf(result: CallToolResult): ToolOutcome {
  const texts: string[] = [];
  const images: NonNullable<ToolOutcome['images']> = [];
  for (const block of result.content ?? []) {
    if (block.type === 'text') texts.push(block.text);
    else if (block.type === 'image') images.push({ mediaType: block.mimeType, data: block.data });
    else if (block.type === 'resource' && 'text' in block.resource) texts.push(block.resource.text);
    else if (isPicture(block)) images.push({ mediaType: block.resource.mimeType, data: block.resource.blob });
    else if (block.type === 'resource_link') texts.push(`${block.name}: ${block.uri}`);
    else texts.push(prompt('mcp-left-out', { what: describe(block) }));
  }
  // The text is meant for models; where a server gives none, this is all that it says.
  if (result.structuredContent !== undefined && texts.every((text) => text.trim() === '')) {
    texts.splice(0, texts.length, JSON.stringify(result.structuredContent));
  }
  const content = texts.join('\n').toWellFormed();
  const isError = result.isError === true;
  return { content: content === '' && isError ? prompt('mcp-no-reason', {}) : content, isError, images };
}

/** A file that a server puts into its answer as it is. */
const isPicture = (block: Block): block is Block & { resource: { mimeType: string; blob: string } } =>
  block.type === 'resource' && 'blob' in block.resource && /^image\//.test(block.resource.mimeType ?? '');

function describe(
  block: Block & { mimeType?: string; resource?: { uri: string; mimeType?: string | undefined } },
): string {
  const { type, mimeType, resource } = block;
  return [type, mimeType ?? resource?.mimeType, resource?.uri].filter((part) => part !== undefined).join(' ');
}
