import type { SetBy } from '../core/budget.ts';
import type { Limits } from '../core/limits.ts';
import type { Engine } from '../engines/engine.ts';
import type { Approval, ApprovalRequest } from '../middleware/approvals.ts';
import type { ModelClient, Models } from '../models/contract.ts';
import type { Middleware } from '../session/middleware.ts';
import type { SessionStore } from '../store/contract.ts';
import type { InstalledHook } from '../subagents/dispatcher.ts';
import type { Tool } from '../tools/define-tool.ts';
import type { Placement } from './middleware-order.ts';

export interface RuntimeOptions {
  /** Working folder of new sessions. Default: the process's. */
  cwd?: string | undefined;
  /** The user's home folder. Default: the system's. */
  home?: string | undefined;
  /** Where sessions, caches and user skills are kept. Default `$REASONIX_HOME`, else `<home>/.reasonix`. */
  reasonixHome?: string | undefined;
  /** Default `process.env`. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** `KEY=VALUE` settings that win over every file, as `-e` on the command line. */
  overrides?: readonly string[] | undefined;
  /** Folder whose skills every session sees, wherever it works. Default: the session's own working folder. */
  skillsFrom?: string | undefined;
  /**
   * New sessions keep the skills that they start with: these are put into the store, and the session and
   * its sub-agents use them wherever they run, whatever happens to the files. Default false.
   */
  packSkills?: boolean | undefined;
  /** A configuration file read instead of the project's. */
  configFile?: string | undefined;
  profile?: string | undefined;
  /**
   * Starts the MCP servers and hooks, and sends keys to the addresses of providers and store, that the project's own files
   * name without their having been allowed by `reasonix config trust`. Default false; a `configFile` is always
   * taken at its word.
   */
  trustProject?: boolean | undefined;
  /** Model of new sessions: a name, or a client such as `scriptedModel(…)`. Default: the configuration's. */
  model?: string | ModelClient | undefined;
  /** Replaces the models of the configuration altogether. */
  models?: Models | undefined;
  /** Default: the SQLite store of the configuration. A store handed in is not closed by the runtime. */
  store?: SessionStore | undefined;
  /**
   * Who runs the turns of sessions. Default: the one of the configuration's `engine.url`, else this process.
   * One handed in is not closed by the runtime; its workers are runtimes with the same store.
   */
  engine?: Engine | undefined;
  /** Tools on top of the built-in ones. */
  tools?: readonly Tool[] | undefined;
  middleware?: readonly (Middleware | ({ middleware: Middleware } & Placement))[] | undefined;
  /** Limits of a root turn, over those of the configuration. */
  limits?: Limits | undefined;
  /** Who set them, for the texts that say which limit was reached. Default: the caller. */
  limitsSetBy?: SetBy | undefined;
  /** Children that run at once, over the configuration's `agent.max_concurrent`. */
  maxConcurrent?: number | undefined;
  /** Permission rules allowed on top of the configuration's: `shell(git *)`. */
  allow?: readonly string[] | undefined;
  /** Runs writes without asking; deny rules still hold. */
  yes?: boolean | undefined;
  /** Asked before a write that no rule covers; without it such writes are refused. */
  approve?: ((request: ApprovalRequest) => Promise<Approval>) | undefined;
  /** Called with every skill that `install_skill` writes. */
  installed?: InstalledHook | undefined;
  /** Told about things that are odd but do not stop the work. Default: a process warning. */
  onProblem?: ((text: string) => void) | undefined;
}

export interface SessionOptions {
  /** Working folder of a new session. Default: the runtime's. */
  cwd?: string | undefined;
  /** A session to go on with, root or child. */
  resume?: string | undefined;
  /** A session to copy and go on from. */
  fork?: string | undefined;
  model?: string | undefined;
  /** First section of the system prompt. Default: the configuration's, else the built-in one. */
  system?: string | undefined;
  /** Required skills of this session alone. */
  required?: readonly string[] | undefined;
}

export interface SendOptions {
  signal?: AbortSignal | undefined;
  limits?: Limits | undefined;
}
