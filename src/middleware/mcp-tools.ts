import { z } from 'zod';
import type { SessionEvent } from '../core/events.ts';
import { prompt, toolPrompt } from '../core/prompts.ts';
import { byteLength, oneLine } from '../core/text.ts';
import { defineMiddleware, type Middleware, type SessionInfo, type ToolRun } from '../session/middleware.ts';
import { defineTool, type Tool, type ToolOutcome } from '../tools/define-tool.ts';
import { searchTools } from '../tools/mcp/search.ts';
import type { McpServers } from '../tools/mcp/servers.ts';
import { parseObject } from '../tools/mcp/tools.ts';
import { memo } from '../tools/memo.ts';

export interface McpToolsOptions {
  servers: McpServers;
  /** How long a new session waits for servers, in milliseconds. */
  wait: number;
  /** Bytes of definitions above which they stand behind `search_tools`. */
  searchAbove: number;
}

const SEARCH = 'search_tools';
const CALL = 'call_tool';

const searchInput = memo(() => z.object({ query: z.string().default('') }));
const callInput = memo(() =>
  z.object({
    name: z.string(),
    arguments: z.union([z.record(z.string(), z.unknown()), z.string()]).optional(),
  }),
);

/**
 * Gives sessions the tools of MCP servers. What is there when a session begins is frozen with it; what
 * comes later is announced, and called by name through `call_tool`. Many tools stand behind
 * `search_tools` from the start, so that a session does not carry their definitions.
 */
export function mcpTools({ servers, wait, searchAbove }: McpToolsOptions): Middleware {
  const available = (info: SessionInfo): Tool[] => servers.tools(info.skill?.name);

  const lookups = (info: SessionInfo): Tool[] => [searchTool(() => available(info)), callTool()];

  /** In the place of tools of a session that goes on before their server is there. */
  const absent = new WeakSet<Tool>();

  return defineMiddleware({
    name: 'mcp-tools',

    async prepareSession(setup) {
      if (servers.isEmpty) return;
      const frozen = setup.thread.started?.tools.map(({ name }) => name) ?? [];
      if (!setup.isNew && !frozen.some((name) => name.startsWith('mcp__') || name === CALL)) return;
      await servers.ready(wait, { skill: setup.skill?.name });
      const tools = available(setup).filter(({ name }) => setup.isAllowed(name));
      if (!setup.isNew) {
        for (const tool of [...tools, ...lookups(setup)]) setup.addTool(tool);
        const there = new Set(tools.map(({ name }) => name));
        for (const name of frozen) {
          if (there.has(name) || !servers.mayBring(name, setup.skill?.name)) continue;
          const tool = absentTool(name);
          absent.add(tool);
          setup.addTool(tool);
        }
        return;
      }
      const size = byteLength(JSON.stringify(tools.map(definitionOf)));
      // A skill that names its tools gets them as they are: it may have few, and knows their names.
      const maySearch = setup.isAllowed(CALL);
      const isMany = maySearch && size > searchAbove;
      for (const tool of isMany ? [] : tools) setup.addTool(tool);
      // Any server may come late, or have more tools later: only through these can they be called then.
      if (maySearch && servers.serve(setup.skill?.name)) for (const tool of lookups(setup)) setup.addTool(tool);
    },

    startTurn({ info, thread }) {
      const frozen = new Set(thread.started?.tools.map(({ name }) => name));
      if (servers.isEmpty || !frozen.has(CALL)) return undefined;
      servers.retry();
      const isHidden = (name: string) => thread.lateTools.get(name) !== true && (!frozen.has(name) || isGone(name));
      const isGone = (name: string) => thread.lateTools.get(name) === false;
      const now = new Set(available(info).map(({ name }) => name));
      const known = [...frozen].filter((name) => name.startsWith('mcp__'));
      const told = [...thread.lateTools].flatMap(([name, isThere]) => (isThere ? [name] : []));
      const isFirst = thread.lateTools.size === 0 && known.length === 0;
      const added = [...now].filter(isHidden);
      const removed = [...new Set([...known, ...told])].filter((name) => !now.has(name) && !isGone(name));
      if (added.length + removed.length === 0) return undefined;
      const event: SessionEvent = { type: 'tools.changed', added, removed };
      const notices = [
        ...(added.length > 0 ? [addedText(added, isFirst)] : []),
        ...(removed.length > 0 ? [prompt('tools-removed', { names: shortList(removed) })] : []),
      ];
      return { notices, events: [event] };
    },

    async aroundTool(run, next) {
      if (run.tool.name !== CALL && !absent.has(run.tool)) return next(run);
      const wanted = absent.has(run.tool) ? { name: run.tool.name, arguments: run.input } : run.input;
      const { name: named, arguments: given = {} } = wanted as { name: string; arguments?: unknown };
      const tool = available(run.turn.info).find(({ name }) => name === named);
      if (!tool) return unknownTool(named, available(run.turn.info));
      const parsed = tool.parse(typeof given === 'string' ? given : JSON.stringify(given));
      if (!parsed.ok) return { content: parsed.problem, isError: true };
      const inner: ToolRun = { ...run, tool, input: parsed.input };
      return next(inner);
    },
  });
}

/** Names in one announcement; the others are found by searching. */
const MOST_NAMED = 30;

const addedText = (names: readonly string[], isFirst: boolean): string =>
  prompt(isFirst ? 'tools-there' : 'tools-added', { names: shortList(names) });

function shortList(names: readonly string[]): string {
  const more = names.length > MOST_NAMED ? ` (+${names.length - MOST_NAMED})` : '';
  return `${names.slice(0, MOST_NAMED).join(', ')}${more}`;
}

const definitionOf = ({ name, description, parameters }: Tool) => ({ name, description, parameters });

function searchTool(tools: () => Tool[]): Tool<{ query: string }> {
  return defineTool({
    name: SEARCH,
    description: toolPrompt(SEARCH).description,
    input: searchInput(),
    effects: 'read',
    subject: ({ query }) => query,
    execute: async ({ query }) => {
      const found = searchTools(tools(), query);
      const { matched } = found;
      return JSON.stringify({ tools: found.tools.map(definitionOf), matched, total: tools().length });
    },
  });
}

/** Never executed itself: the middleware puts the tool that it names in its place. */
function callTool(): Tool {
  return defineTool({
    name: CALL,
    description: toolPrompt(CALL).description,
    input: callInput(),
    effects: 'write',
    subject: ({ name }) => name,
    execute: async ({ name }) => unknownTool(name, []),
  });
}

/** Of a tool that only its server knows: the middleware puts that one in its place once it is there. */
const absentTool = (name: string): Tool => ({
  name,
  description: '',
  parameters: {},
  effects: 'write',
  parse: (text) => parseObject(text, {}),
  subject: (input) => oneLine(JSON.stringify(input)),
  execute: async () => unknownTool(name, []),
});

function unknownTool(name: string, tools: readonly Tool[]): ToolOutcome {
  const nearest = searchTools(tools, name.replaceAll(/[^\p{L}\p{N}]+/gu, ' ')).tools.slice(0, 3);
  const names = nearest.map((tool) => tool.name).join(', ') || 'none';
  return { content: prompt('tool-not-there', { name, names, total: tools.length }), isError: true };
}
