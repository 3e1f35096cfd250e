import type { ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';

const READS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false } as const;

/** What a client may tell its user about a tool, and decide by whether to ask. */
const TOOLS: Readonly<Record<string, { title: string; annotations: ToolAnnotations }>> = {
  // What a skill does is up to its text: it may write files, run commands and reach other hosts.
  run_skill: {
    title: 'Run a skill',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  },
  search_skills: { title: 'Search skills', annotations: READS },
  read_skill: { title: 'Read a skill', annotations: READS },
  list_subagents: { title: 'List sub-agents', annotations: { ...READS, idempotentHint: false } },
  read_result: { title: 'Read on in a result', annotations: READS },
  apply_diff: {
    title: "Take over a sub-agent's changes",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  },
};

export const annotationsOf = (name: string): { title?: string; annotations?: ToolAnnotations } => TOOLS[name] ?? {};
