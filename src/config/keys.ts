import type { ConfigKey } from './config.ts';
import { findNode, type KeyNode, type KeySpec, keyTree } from './key-spec.ts';

const MINUTE = 60_000;

/** Every key there is, in the order of `reasonix.example.toml`. */
export const KEYS = {
  default_model: { type: 'string', doc: 'Model of a new session: "provider/model", a model, or a provider.' },
  profile: {
    type: 'string',
    format: 'profile',
    alias: 'ACTIVE_PROFILE',
    doc: 'Profile to lay over the files; "off" for none. Not valid inside a profile.',
  },

  'providers.*.kind': {
    type: 'string',
    choices: ['openai', 'responses', 'anthropic', 'scripted'],
    doc: 'Wire of the server: openai (chat completions, any compatible one), responses, anthropic, or scripted (no server).',
  },
  'providers.*.base_url': { type: 'string', format: 'url', doc: "Address of the API; unset: the kind's own." },
  'providers.*.models': { type: 'list', doc: 'Models it serves; the first is its default.' },
  'providers.*.api_key_env': { type: 'string', format: 'variable', doc: 'Environment variable that holds the key.' },
  'providers.*.context_window': {
    type: 'integer',
    min: 1,
    doc: 'Tokens of request and answer; unset: as known of the model, else 128,000.',
  },
  'providers.*.max_output_tokens': { type: 'integer', min: 1, doc: "Tokens of one answer; unset: the server's limit." },
  'providers.*.effort': { type: 'string', doc: 'Reasoning effort where neither skill nor [agent] names one.' },
  'providers.*.thinking': {
    type: 'integer',
    min: 0,
    doc: 'Tokens to think with, for models that take a budget; 0: off.',
  },
  'providers.*.parallel_tools': {
    type: 'boolean',
    doc: 'Several tool calls a step, or one at a time; unset: as the server does it.',
  },
  'providers.*.images': { type: 'boolean', doc: 'Send pictures that tools return; unset: by server and model.' },
  'providers.*.stream': { type: 'boolean', doc: 'Ask for answers as a stream (unset), or in one piece (false).' },
  'providers.*.requests_per_minute': {
    type: 'integer',
    min: 0,
    doc: 'Requests in any 60 seconds, retries included; 0: as many as come.',
  },
  'providers.*.script': { type: 'path', doc: 'YAML file of rules, for kind "scripted".' },
  'providers.*.headers.*': { type: 'string', secret: true, doc: 'HTTP header sent with every request.' },
  'providers.*.prices.*.input': { type: 'number', min: 0, doc: 'Price of a million prompt tokens.' },
  'providers.*.prices.*.output': { type: 'number', min: 0, doc: 'Price of a million answer tokens.' },
  'providers.*.prices.*.cache_read': { type: 'number', min: 0, doc: 'Of cached prompt tokens; unset: as input.' },
  'providers.*.prices.*.cache_write': { type: 'number', min: 0, doc: 'Of tokens put in the cache; unset: as input.' },

  'agent.max_depth': { type: 'integer', default: 3, min: 0, max: 32, doc: 'Levels of sub-agents; 0 for none.' },
  'agent.max_concurrent': { type: 'integer', default: 6, min: 1, max: 1000, doc: 'Sub-agents running at once.' },
  'agent.max_spawns': { type: 'integer', default: 64, min: 0, doc: 'Sub-agents a root turn may start, all levels.' },
  'agent.child_max_steps': { type: 'integer', default: 50, min: 1, doc: "Model calls of a sub-agent's turn." },
  'agent.child_notice': {
    type: 'boolean',
    default: true,
    doc: 'Tell sub-agents that only their last message returns; off where their skills say so.',
  },
  'agent.background': { type: 'boolean', default: true, doc: 'Offer sub-agents that run beside the turn.' },
  'agent.background_at_end': {
    type: 'string',
    default: 'wait',
    choices: ['wait', 'cancel'],
    doc: 'When the model is done: wait for sub-agents that still run, or cancel them.',
  },
  'agent.max_steps': { type: 'integer', min: 1, doc: 'Model calls of a root turn; unset: no limit.' },
  'agent.max_tokens': { type: 'integer', min: 1, doc: 'Tokens of a root turn and its sub-agents; unset: no limit.' },
  'agent.max_cost': { type: 'number', min: 0, doc: 'Cost of a root turn and its sub-agents; unset: no limit.' },
  'agent.timeout': { type: 'duration', min: 1, doc: 'Time of a root turn; unset: no limit.' },
  'agent.system_prompt_file': { type: 'path', doc: 'Text that replaces the built-in system prompt of root sessions.' },
  'agent.subagent_model': { type: 'string', doc: "Model of sub-agents; unset: the parent's." },
  'agent.subagent_models.*': { type: 'string', doc: 'Model of one skill, by its name.' },
  'agent.fallback_models': {
    type: 'list',
    default: [],
    doc: 'Asked in this order when a model fails for good: overloaded, key refused, unknown model. Empty: none.',
  },
  'agent.request_timeout': {
    type: 'duration',
    default: 30 * MINUTE,
    min: 1,
    doc: 'Time of one model call with all its attempts.',
  },
  'agent.default_prices': {
    type: 'boolean',
    default: true,
    doc: "Know the list prices of well-known models at their vendor's own address.",
  },
  'agent.effort': { type: 'string', doc: "Reasoning effort, as the model's provider names it." },
  'agent.subagent_effort': { type: 'string', doc: "Reasoning effort of sub-agents; unset: the parent's." },
  'agent.compact_at': {
    type: 'number',
    default: 0.8,
    min: 0,
    max: 1,
    doc: "Share of its model's window at which a session is compacted; 0: never.",
  },
  'agent.compact_model': { type: 'string', doc: "Model that sums up what is compacted; unset: the session's." },

  'skills.paths': {
    type: 'paths',
    default: [],
    variables: true,
    addedBy: 'ADDITIONAL_SKILLS',
    doc: "More folders of skills, below the project's and above the user's. Replaces the value of lower tiers; the standard folders stay.",
  },
  'skills.excluded_paths': {
    type: 'paths',
    default: [],
    variables: true,
    doc: 'Skill folders that are not looked at, standard ones too.',
  },
  'skills.disabled_skills': { type: 'list', default: [], doc: 'Names that are neither listed nor run.' },
  'skills.max_depth': { type: 'integer', default: 3, min: 1, max: 6, doc: 'Folder levels searched below each root.' },
  'skills.lazy': {
    type: 'boolean',
    default: false,
    alias: 'TOOL_SEARCHSKILLS',
    doc: 'List only built-ins in the prompt; the rest is found with search_skills.',
  },
  'skills.list.include': {
    type: 'list',
    default: [],
    alias: 'SKILL_LIST_INCLUDE',
    doc: 'List only names that match a glob; empty: all.',
  },
  'skills.list.exclude': {
    type: 'list',
    default: [],
    alias: 'SKILL_LIST_EXCLUDE',
    doc: 'Do not list names that match a glob.',
  },
  'skills.list.include_file': {
    type: 'path',
    alias: 'SKILL_LIST_INCLUDE_FILE',
    doc: 'File with more include globs, one a line.',
  },
  'skills.list.exclude_file': {
    type: 'path',
    alias: 'SKILL_LIST_EXCLUDE_FILE',
    doc: 'File with more exclude globs, one a line.',
  },
  'skills.list.top_percent': {
    type: 'number',
    default: 0,
    min: 0,
    max: 100,
    alias: 'SKILL_LIST_TOP_PERCENT',
    doc: 'List only this share of the most used skills; 0: off.',
  },
  'skills.list.style': {
    type: 'string',
    default: 'full',
    choices: ['full', 'names'],
    alias: 'SKILL_LIST_STYLE',
    doc: 'Names with descriptions, or names alone.',
  },
  'skills.list.max_bytes': { type: 'bytes', default: 16_384, min: 0, doc: 'Room of the list in the prompt.' },
  'skills.required.enabled': {
    type: 'boolean',
    default: true,
    alias: 'REQUIRED_SKILLS',
    doc: 'Whether skills can be required at all.',
  },
  'skills.required.names': {
    type: 'list',
    default: [],
    addedBy: 'SYSTEM_PROMPT_SKILLS',
    doc: 'Required beside those of the required_skills.txt files; "!name" waives one.',
  },
  'skills.required.force': {
    type: 'boolean',
    default: false,
    alias: 'REQUIRED_SKILLS_FORCED',
    doc: 'Inject them when the session starts, without nudging first.',
  },
  'skills.required.in_system_prompt': {
    type: 'boolean',
    default: false,
    alias: 'REQUIRED_SKILLS_IN_SYSTEM_PROMPT',
    doc: 'Freeze their bodies into the system prompt.',
  },
  'skills.required.policy': {
    type: 'string',
    default: 'inject',
    choices: ['inject', 'fail', 'allow'],
    doc: 'When the nudges are used up: inject the bodies, fail the turn, or let it end.',
  },
  'skills.required.max_nudges': {
    type: 'integer',
    default: 3,
    min: 0,
    max: 100,
    doc: 'Nudges before the policy decides.',
  },

  'tools.enabled': { type: 'list', doc: 'Tools that sessions get; unset: all of them.' },
  'tools.shell_timeout': { type: 'duration', default: 2 * MINUTE, min: 1, doc: 'Time of one shell command.' },
  'tools.keep_env': {
    type: 'list',
    default: [],
    doc: 'Environment variables that commands get although they look like secrets.',
  },
  'tools.output_limit': {
    type: 'bytes',
    default: 32_768,
    min: 1024,
    doc: 'Size a tool result is clipped to; read_result gives the rest.',
  },
  'tools.mcp_wait': {
    type: 'duration',
    default: 5_000,
    min: 0,
    doc: 'Time that a new session waits for MCP servers; later tools are announced.',
  },
  'tools.search_above': {
    type: 'bytes',
    default: 24_576,
    min: 0,
    doc: 'Size of MCP tool definitions above which search_tools stands for them.',
  },
  'tools.web_fetch.allow_private': {
    type: 'boolean',
    default: false,
    doc: 'Fetch from loopback and private addresses too.',
  },
  'tools.web_fetch.max_bytes': {
    type: 'bytes',
    default: 5_242_880,
    min: 1024,
    doc: 'Size of a page; what is longer is cut.',
  },
  'tools.web_fetch.timeout': { type: 'duration', default: MINUTE / 2, min: 1, doc: 'Time of one fetch.' },

  'permissions.mode': {
    type: 'string',
    default: 'ask',
    choices: ['ask', 'allow', 'deny'],
    doc: 'What happens to a write that no rule names. Without a terminal, ask refuses.',
  },
  'permissions.allow': {
    type: 'list',
    default: [],
    doc: 'Rules that run without asking: "write_file", "shell(git *)", "mcp__docs__*".',
  },
  'permissions.ask': { type: 'list', default: [], doc: 'Rules that always ask.' },
  'permissions.deny': {
    type: 'list',
    default: [],
    doc: 'Rules that are refused; they win over the others, and those of all tiers add up. A whole tool is not offered.',
  },

  'sandbox.allow_write': {
    type: 'paths',
    default: [],
    doc: 'Folders outside the working folder that tools may write to.',
  },
  'sandbox.forbid_read': {
    type: 'paths',
    default: [],
    doc: 'Files and folders that tools may not read; those of all tiers add up.',
  },

  'mcp.*.command': { type: 'string', doc: 'Program that speaks MCP on its standard input and output.' },
  'mcp.*.args': { type: 'list', doc: 'Its arguments.' },
  'mcp.*.env.*': {
    type: 'string',
    secret: true,
    doc: 'Variable of its environment; may refer to yours as a shell does.',
  },
  'mcp.*.pass_env': {
    type: 'list',
    doc: 'Variables of your environment that it gets although they look like secrets.',
  },
  'mcp.*.cwd': { type: 'path', doc: 'Folder it starts in; unset: the working folder.' },
  'mcp.*.url': { type: 'string', format: 'url', doc: 'Address of a server that speaks streamable HTTP.' },
  'mcp.*.headers.*': { type: 'string', secret: true, doc: 'HTTP header; may refer to variables as a shell does.' },
  'mcp.*.enabled': { type: 'boolean', doc: 'false leaves the server out; unset: true.' },
  'mcp.*.tools': { type: 'list', doc: 'Its tools that are used, with * and ?; unset: all.' },
  'mcp.*.exclude_tools': { type: 'list', doc: 'Its tools that are left out, with * and ?.' },
  'mcp.*.skills': { type: 'list', doc: 'Only sub-agents of these skills get its tools; unset: every session.' },
  'mcp.*.start_timeout': { type: 'duration', min: 1, doc: 'Time to start; unset: 30 s.' },
  'mcp.*.call_timeout': { type: 'duration', min: 1, doc: 'Time of one call; unset: 2 min.' },

  'hooks.*.on': {
    type: 'list',
    doc: 'When it runs: some of session_start, before_tool, turn_end and the others of docs/hooks.md.',
  },
  'hooks.*.command': { type: 'string', doc: 'Shell command; it reads JSON, and exit code 2 blocks with what it says.' },
  'hooks.*.match': { type: 'list', doc: 'Tools or skills it is for, with * and ?; unset: all.' },
  'hooks.*.timeout': { type: 'duration', min: 1, doc: 'Time it may take; unset: 60 s.' },

  'store.path': { type: 'path', doc: 'File that sessions are kept in; unset: in $REASONIX_HOME.' },
  'store.url': { type: 'string', doc: 'Postgres that sessions are kept in: postgres://user@host/database.' },
  'store.schema': { type: 'string', default: 'reasonix', doc: 'Where its tables are.' },
  'store.listen_url': { type: 'string', doc: 'Address of the server itself, when url is that of a pooler.' },
  'store.pool_size': { type: 'integer', min: 1, default: 10, doc: 'Connections at once, for each process.' },

  'engine.url': { type: 'string', doc: 'Redis by which workers run the sessions: redis://host:6379; needs store.url.' },
  'engine.prefix': { type: 'string', default: 'reasonix', doc: 'What its keys in Redis begin with.' },
  'engine.concurrency': { type: 'integer', min: 1, default: 8, doc: 'Sessions that a worker runs at once.' },
  'engine.max_running': {
    type: 'integer',
    min: 0,
    default: 0,
    doc: 'Sessions that all workers run at once; 0: no bound.',
  },
  'engine.lease': {
    type: 'duration',
    min: 2000,
    minWhy: 'with less, a worker that stands still for a moment would lose its sessions to others',
    default: 10_000,
    doc: 'How long the sessions of a worker that died wait for another one.',
  },
  'engine.tag': {
    type: 'string',
    doc: 'New sessions are run by workers with this tag only, as those that have a folder.',
  },
  'engine.tags': { type: 'list', default: [], doc: 'Tags of a worker: it runs sessions with one of them, too.' },
  'engine.workspace': { type: 'path', doc: "Folder in which sessions without a tag work; unset: the session's own." },
  'engine.health_port': {
    type: 'integer',
    min: 0,
    doc: 'Port on which a worker serves /healthz, /readyz and /metrics; 0: any; unset: none.',
  },
  'engine.health_host': { type: 'string', default: '127.0.0.1', doc: 'Address on which it serves them.' },
  'engine.grace': {
    type: 'duration',
    default: 30_000,
    doc: 'How long the steps of a worker may go on after it was told to end.',
  },

  'serve.port': { type: 'integer', default: 4000, min: 0, max: 65_535, doc: 'Port of reasonix serve; 0: any.' },
  'serve.host': { type: 'string', default: '127.0.0.1', doc: 'Address it listens on; all but loopback need a token.' },
  'serve.token_env': {
    type: 'string',
    format: 'variable',
    default: 'REASONIX_SERVE__TOKEN',
    doc: 'Environment variable that holds its token; without one a token is made at every start.',
  },
} as const satisfies Record<ConfigKey, KeySpec>;

export const keyRoot: KeyNode = keyTree(KEYS);

/** The specification of a key given as its segments. */
export const specOf = (segments: readonly string[]): KeySpec | undefined => findNode(keyRoot, segments)?.spec;

/** Keys without `*`, in registry order. */
export const fixedKeys: readonly (readonly [string, KeySpec])[] = Object.entries(KEYS).filter(
  ([key]) => !key.includes('*'),
);
