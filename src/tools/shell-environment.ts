const SECRET_NAME =
  /(?:^|_)(?:TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|KEY|KEYS|PAT|AUTH|COOKIE)(?:_|$)|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET_?KEY|AUTH_?TOKEN|CONNECTION_?STRING/i;
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

/**
 * The environment of a command: ours without what looks like a secret by its name or its value.
 * `keep` names variables that stay whatever they look like.
 */
export function commandEnvironment(environment: NodeJS.ProcessEnv, keep: readonly string[] = []): NodeJS.ProcessEnv {
  const kept = new Set(keep);
  const clean: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue;
    const secret = !HARMLESS.has(name) && (SECRET_NAME.test(name) || SECRET_VALUE.test(value));
    if (!secret || kept.has(name)) clean[name] = value;
  }
  return { ...clean, ...FOR_PROGRAMS };
}
