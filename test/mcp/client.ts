import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  type CallToolResult,
  ElicitRequestSchema,
  type ElicitResult,
  type Progress,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { binary, type Workplace } from '../cli/workplace.ts';

/** What a result of a sub-agent is as data. */
export interface Run {
  ref?: string;
  status: string;
  answer: string;
  skill: string;
  steps: number;
  usage: { input: number; output: number };
  reason?: string;
  output?: unknown;
  subagents?: { ref: string; status: string }[];
}

export interface Called {
  /** The blocks of text, one after the other. */
  texts: string[];
  text: string;
  isError: boolean;
  run: Run;
}

export interface CallOptions {
  signal?: AbortSignal;
  onprogress?: (progress: Progress) => void;
}

export interface Connected {
  client: Client;
  pid: number;
  /** What the server has said on stderr so far. */
  stderr(): string;
  call(name: string, input?: Record<string, unknown>, options?: CallOptions): Promise<Called>;
  run(input: Record<string, unknown>, options?: CallOptions): Promise<Called>;
  /** Settles when the server has told about another list. */
  listChanged: Promise<void>;
  close(): Promise<void>;
}

export interface ConnectOptions {
  cwd?: string;
  /** Answers questions; a client without it cannot be asked. */
  elicit?: (message: string) => Promise<ElicitResult> | ElicitResult;
}

/** `reasonix mcp` as it is shipped, and a client of the protocol's own SDK. */
export async function connect(
  place: Workplace,
  args: readonly string[] = [],
  { cwd = place.project, elicit }: ConnectOptions = {},
): Promise<Connected> {
  const { PATH = '' } = process.env;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [binary, 'mcp', ...args],
    cwd,
    env: { PATH, HOME: place.home, USERPROFILE: place.home },
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: elicit ? { elicitation: { form: {} } } : {} },
  );
  if (elicit) client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params.message));
  const listChanged = new Promise<void>((resolve) => {
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve());
  });
  await client.connect(transport);
  const call: Connected['call'] = async (name, input = {}, options = {}) => {
    const result = (await client.callTool({ name, arguments: input }, undefined, {
      ...options,
      timeout: 100_000,
    })) as CallToolResult;
    const texts = result.content.map((block) => (block.type === 'text' ? block.text : ''));
    return {
      texts,
      text: texts.join('\n'),
      isError: result.isError ?? false,
      run: result.structuredContent as unknown as Run,
    };
  };
  return {
    client,
    pid: transport.pid ?? -1,
    stderr: () => stderr,
    call,
    run: (input, options) => call('run_skill', input, options),
    listChanged,
    close: () => client.close(),
  };
}

export const SCRIPT = `
rules:
  - name: hang
    when: { skill: dig, user: hang }
    faults: { hang: true, times: always }
  - name: slow
    when: { kind: child, user: slow }
    latency: 500
    text: "slow {{user}} is done"
  - name: write
    when: { kind: child, user: write, turn_step: 1 }
    calls: [{ name: write_file, arguments: { path: out.txt, content: written } }]
  - name: wrote
    when: { kind: child, user: write }
    text: "it said: {{last_result}}"
  - name: outer
    when: { skill: outer, turn_step: 1 }
    calls: [{ name: run_skill, arguments: { name: dig, arguments: "{{user}}" } }]
  - name: outer is done
    when: { skill: outer }
    text: "below: {{last_result}}"
  - name: long
    when: { kind: child, user: long }
    text: "first ${'0123456789'.repeat(5_000)} last"
  - name: dig
    when: { kind: child }
    text: "heard {{user}} in turn {{turn}}, first {{task}}"
  - name: root
    text: "root heard {{user}}"
`;

export const logOf = (place: Workplace, reference: string) =>
  place.run(['session', 'export', reference, '--format', 'jsonl']).then(({ stdout }) =>
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; [key: string]: unknown }),
  );

export const fileIn = (place: Workplace, name: string): string => join(place.project, name);
