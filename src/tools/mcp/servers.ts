import { timerDelay } from '../../core/timer.ts';
import type { Tool } from '../define-tool.ts';
import { McpServer, type McpServerOptions, type ServerState } from './server.ts';
import type { McpServerSettings } from './settings.ts';
import { isToolOf, toolsOf } from './tools.ts';

/** How a server stands, for people. */
export interface McpStatus {
  name: string;
  state: ServerState;
  tools: number;
  problem: string;
}

/** All servers of a runtime. None is started before the first session asks for tools. */
export class McpServers {
  readonly #servers: McpServer[];
  #starting: ReadonlyMap<McpServer, Promise<void>> | undefined;

  constructor(settings: readonly McpServerSettings[], options: McpServerOptions) {
    this.#servers = settings.filter(({ enabled }) => enabled ?? true).map((each) => new McpServer(each, options));
  }

  get isEmpty(): boolean {
    return this.#servers.length === 0;
  }

  /**
   * Starts what is not started and waits until all are ready or have failed, for at most `wait` milliseconds.
   * @param session whose servers are waited for; default all.
   */
  async ready(wait: number, session?: { skill: string | undefined }): Promise<void> {
    if (this.isEmpty) return;
    this.#starting ??= new Map(this.#servers.map((server) => [server, server.start()]));
    this.retry();
    const awaited = session === undefined ? this.#servers : this.#serving(session.skill);
    const started = Promise.all(awaited.map((server) => this.#starting?.get(server)));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timerDelay(wait));
    });
    await Promise.race([started, late]);
    clearTimeout(timer);
  }

  /** Has servers that did not start tried again, without waiting for them. */
  retry(): void {
    for (const server of this.#servers) server.retry();
  }

  /** The tools that a session may have now, sorted by name; `skill` is that of a child. */
  tools(skill: string | undefined): Tool[] {
    const all = this.#serving(skill).flatMap(toolsOf);
    const byName = new Map(all.map((tool) => [tool.name, tool]));
    return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Whether a session could have tools of any server, now or later; `skill` is that of a child. */
  serve(skill: string | undefined): boolean {
    return this.#serving(skill).length > 0;
  }

  /** Whether a server that a session may use is away, and may come with a tool of this name. */
  mayBring(tool: string, skill: string | undefined): boolean {
    return this.#serving(skill).some(({ name, state }) => state !== 'ready' && isToolOf(name, tool));
  }

  status(): McpStatus[] {
    return this.#servers.map(({ name, state, tools, problem }) => ({ name, state, tools: tools.length, problem }));
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }

  #serving(skill: string | undefined): McpServer[] {
    return this.#servers.filter(
      ({ settings }) => settings.skills === undefined || (skill !== undefined && settings.skills.includes(skill)),
    );
  }
}
