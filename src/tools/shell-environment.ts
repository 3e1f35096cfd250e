const SECRET_NAME =
  /(?:^|_)(?:TOKENS?|SECRETS?|PASSPHRASE|CREDENTIALS?|KEY|KEYS|PAT|AUTH|COOKIE)(?:_|$)|PASSW(?:OR)?DS?(?:_|$)|_PWD$|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET_?KEY|AUTH_?TOKEN|CONNECTION_?STRING/i;
const SECRET_VALUE = /^(?:sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA)\w|:\/\/[^/\s:@]*:[^/\s@]+@/;
/** Names that look like secrets and hold a socket or a program. */
const HARMLESS = new Set(['SSH_AUTH_SOCK', 'GPG_AGENT_INFO', 'XAUTHORITY']);

/** Keeps programs from waiting for a person or drawing on a terminal. */
const FOR_PROGRAMS: NodeJS.ProcessEnv = {
  GIT_EDITOR: 'true',
  GIT_PAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  NO_COLOR: '1',
  PAGER: 'cat',
  TERM: 'dumb',
};

/** Where a repository is, told by the environment: set while a hook of git runs. */
const GIT_PLACE =
  /^GIT_(?:DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|PREFIX|NAMESPACE|CONFIG|CONFIG_(?:PARAMETERS|COUNT|KEY_\d+|VALUE_\d+)|SHALLOW_FILE|GRAFT_FILE|REPLACE_REF_BASE|IMPLICIT_WORK_TREE|QUARANTINE_PATH)$/;

/** A shorter value may stand in another one by chance. */
const SHORTEST_KEY = 8;

export interface EnvironmentRules {
  /** Variables that stay whatever they look like. */
  keep?: readonly string[] | undefined;
  /** Variables that hold keys of ours; no other variable with the value of one stays either. */
  withhold?: readonly string[] | undefined;
}

/** The environment of a command: ours without what is, or looks like, a secret by its name or its value. */
export function commandEnvironment(
  environment: NodeJS.ProcessEnv,
  { keep = [], withhold = [] }: EnvironmentRules = {},
): NodeJS.ProcessEnv {
  const kept = new Set(keep);
  const keys = withhold.flatMap((name) => (kept.has(name) ? [] : [environment[name]?.trim() ?? '']));
  const ours = keys.filter((value) => value.length >= SHORTEST_KEY);
  const clean: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue;
    const looksSecret = !HARMLESS.has(name) && (SECRET_NAME.test(name) || SECRET_VALUE.test(value));
    const isOurs = withhold.includes(name) || ours.some((key) => value.includes(key));
    if (!(looksSecret || isOurs) || kept.has(name)) clean[name] = value;
  }
  return { ...clean, ...FOR_PROGRAMS };
}

/** An environment that leads git to no other repository than the one of the working folder. */
export function withoutGitPlace(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !GIT_PLACE.test(name)));
}

/** What tells a command where its session keeps files of its own. */
export function scratchEnvironment(scratch: string): NodeJS.ProcessEnv {
  const temporary = process.platform === 'win32' ? { TEMP: scratch, TMP: scratch } : { TMPDIR: scratch };
  return { ...temporary, REASONIX_SCRATCH: scratch };
}
