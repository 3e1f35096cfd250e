/** The tools that the runtime itself brings, by the names that models see. */
export const BUILTIN_TOOL_NAMES = [
  'run_skill',
  'read_skill',
  'search_skills',
  'install_skill',
  'read_result',
  'list_subagents',
  'wait_subagents',
  'cancel_subagent',
  'send_to_subagent',
  'apply_diff',
  'search_tools',
  'call_tool',
  'read_file',
  'list_files',
  'grep',
  'write_file',
  'edit_file',
  'shell',
  'web_fetch',
] as const;

export type BuiltinToolName = (typeof BUILTIN_TOOL_NAMES)[number];

/** Tools whose calls are about a path. */
export const PATH_TOOLS: readonly string[] = [
  'read_file',
  'list_files',
  'grep',
  'write_file',
  'edit_file',
] satisfies BuiltinToolName[];

/** Tools that act on the working folder, besides those of MCP servers. */
export const FOLDER_TOOLS: readonly string[] = [...PATH_TOOLS, 'shell' satisfies BuiltinToolName];

/** What other products call these tools in the tool lists of their skills and agents. */
const FOREIGN: Partial<Record<BuiltinToolName, string>> = {
  run_skill:
    'InvokeSkill Skill Skills Task Agent Subagent SpawnAgent spawn_agent activate_skill use_skill SlashCommand',
  read_skill: 'load_skill view_skill',
  search_skills: 'SearchSkill find_skills list_skills',
  read_file: 'Read ReadFile ReadFiles read_many_files View view_file cat open_file NotebookRead file_read fs_read',
  list_files:
    'Glob LS list list_dir ListDirectory ListDir find FindFiles find_by_name FileSearch tree list_code_definition_names',
  grep: 'Search GrepSearch SearchFile search_files SearchFileContent search_file_content codebase_search semantic_search rg ripgrep search_code text_search',
  write_file: 'Write WriteFile write_to_file create_file create file_write fs_write save_file',
  edit_file:
    'Edit MultiEdit StrReplace str_replace_editor str_replace_based_edit_tool search_replace replace replace_in_file replace_file_content replace_string_in_file multi_replace_string_in_file insert_edit_into_file apply_patch patch text_editor NotebookEdit edit_files update_file',
  shell:
    'Bash sh zsh exec exec_command execute_command execute execute_bash terminal run_terminal_cmd run_terminal_command run_in_terminal run_command run_shell_command RunShell local_shell container_exec unified_exec command PowerShell cmd shell_command',
  web_fetch: 'WebFetch Fetch fetch_url http_get read_url read_url_content fetch_webpage url_fetch webfetch browse curl',
};

const plain = (name: string): string =>
  // the names of our table are ASCII, for which there is no need of the slow classes of all scripts
  name.toLowerCase().replace(/^[ -~]*$/.test(name) ? /[^a-z0-9]/g : /[^\p{L}\p{N}]/gu, '');

let ourNames: Map<string, BuiltinToolName> | undefined;

/** Our tool for a name that another product gives it, without regard to case and punctuation. */
export function toolOfName(name: string): BuiltinToolName | undefined {
  // made when it is needed: a start that only lists skills has no use for it
  ourNames ??= new Map(
    BUILTIN_TOOL_NAMES.flatMap((ours) =>
      [ours, ...(FOREIGN[ours]?.split(' ') ?? [])].map((each) => [plain(each), ours] as const),
    ),
  );
  return ourNames.get(plain(name));
}

const otherNames = new Map<string, readonly string[]>();

/**
 * What a tool of an MCP server would be called if providers took every name: rules are written so. The same
 * in every session, since the name that models see is made from these.
 */
export const alsoCalled = (name: string, others: readonly string[]): void => void otherNames.set(name, others);

/** The name that models see, and what it was made from. */
export const namesOf = (name: string): readonly string[] => [name, ...(otherNames.get(name) ?? [])];

const CALL_ALIASES: ReadonlyMap<string, BuiltinToolName> = new Map([
  ['InvokeSkill', 'run_skill'],
  ['SearchSkills', 'search_skills'],
]);

/** The tool that answers a call of this name: ours for the names that our predecessors advertise, else the name itself. */
export const toolAlias = (name: string): string => CALL_ALIASES.get(name) ?? name;
