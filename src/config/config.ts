import type { HookSettings } from '../core/hook-settings.ts';
import type { ProviderSettings } from '../models/contract.ts';
import type { McpServerSettings } from '../tools/mcp/settings.ts';

/**
 * The resolved configuration. Names are those of `reasonix.toml`; absent means unset. Durations are
 * milliseconds, sizes bytes, paths absolute. `keys.ts` holds the defaults, and does not compile when
 * a key is missing there or here.
 */
export interface Config {
  default_model?: string | undefined;
  /** The profile in force. */
  profile?: string | undefined;
  /** In order of precedence: of two tiers, the higher one's entries come first. */
  providers: ProviderSettings[];
  agent: AgentConfig;
  skills: SkillsConfig;
  tools: ToolsConfig;
  permissions: PermissionsConfig;
  sandbox: SandboxConfig;
  store: StoreConfig;
  engine: EngineConfig;
  serve: ServeConfig;
  /** In order of precedence, as `providers`. */
  mcp: McpServerSettings[];
  hooks: HookSettings[];
}

export interface AgentConfig {
  max_depth: number;
  max_concurrent: number;
  max_spawns: number;
  child_max_steps: number;
  background: boolean;
  child_notice: boolean;
  background_at_end: 'wait' | 'cancel';
  /** These four limit a turn of the root session. */
  max_steps?: number | undefined;
  max_tokens?: number | undefined;
  max_cost?: number | undefined;
  timeout?: number | undefined;
  system_prompt_file?: string | undefined;
  subagent_model?: string | undefined;
  /** Model by skill name. */
  subagent_models: Record<string, string>;
  fallback_models: string[];
  request_timeout: number;
  default_prices: boolean;
  effort?: string | undefined;
  subagent_effort?: string | undefined;
  compact_at: number;
  compact_model?: string | undefined;
}

export interface SkillsConfig {
  paths: string[];
  excluded_paths: string[];
  disabled_skills: string[];
  max_depth: number;
  lazy: boolean;
  list: {
    include: string[];
    exclude: string[];
    include_file?: string | undefined;
    exclude_file?: string | undefined;
    top_percent: number;
    style: 'full' | 'names';
    max_bytes: number;
  };
  required: {
    enabled: boolean;
    names: string[];
    force: boolean;
    in_system_prompt: boolean;
    policy: 'inject' | 'fail' | 'allow';
    max_nudges: number;
  };
}

export interface ToolsConfig {
  mcp_wait: number;
  search_above: number;
  /** Absent: all of them. */
  enabled?: string[] | undefined;
  shell_timeout: number;
  keep_env: string[];
  output_limit: number;
  web_fetch: { allow_private: boolean; max_bytes: number; timeout: number };
}

export interface PermissionsConfig {
  mode: 'ask' | 'allow' | 'deny';
  allow: string[];
  ask: string[];
  deny: string[];
}

export interface SandboxConfig {
  allow_write: string[];
  forbid_read: string[];
}

export interface StoreConfig {
  path?: string | undefined;
  url?: string | undefined;
  schema: string;
  listen_url?: string | undefined;
  pool_size: number;
}

export interface EngineConfig {
  url?: string | undefined;
  prefix: string;
  concurrency: number;
  max_running: number;
  lease: number;
  tag?: string | undefined;
  tags: string[];
  workspace?: string | undefined;
  health_port?: number | undefined;
  health_host: string;
  grace: number;
}

export interface ServeConfig {
  port: number;
  host: string;
  token_env: string;
}

type Leaf<T, Prefix extends string> =
  NonNullable<T> extends string | number | boolean | string[]
    ? Prefix
    : NonNullable<T> extends (infer Entry)[]
      ? Leaf<Omit<Entry, 'name'>, `${Prefix}.*`>
      : string extends keyof NonNullable<T>
        ? Leaf<NonNullable<T>[keyof NonNullable<T>], `${Prefix}.*`>
        : {
            [Name in keyof NonNullable<T> & string]-?: Leaf<NonNullable<T>[Name], `${Prefix}.${Name}`>;
          }[keyof NonNullable<T> & string];

/** Every key, dotted; `*` stands for a name that the user chooses. */
export type ConfigKey = { [Section in keyof Config & string]-?: Leaf<Config[Section], Section> }[keyof Config & string];
