import { posix } from 'node:path';
import { possibleCommands, simpleCommands } from './shell-command.ts';
import { namesOf, PATH_TOOLS, toolOfName } from './tool-names.ts';
import { pathMatches, wildcardMatches } from './wildcard.ts';

/**
 * One grant or refusal of tools: `shell(git *)`, `read_file`, `mcp__docs__*`. `tool` is our name and
 * may hold `*`; `pattern` matches the call's subject. The empty pattern is one that could not be
 * read: it allows nothing and denies everything of its tool.
 */
export interface ToolRule {
  tool: string;
  pattern?: string | undefined;
}

/**
 * Reads a tool list in any spelling that skill files use: commas, blanks, lines, YAML lists, quotes;
 * separators inside parentheses belong to the pattern. Names of other products become ours. A name
 * that is not built in is reported in `unknown` and kept, since a tool of that name may come later.
 * An empty list and no list at all both give no rules: telling them apart is the caller's.
 */
export function parseToolRules(value: string | readonly string[]): { rules: ToolRule[]; unknown: string[] } {
  const texts = typeof value === 'string' ? [value] : value;
  const rules: ToolRule[] = [];
  const unknown: string[] = [];
  const seen = new Set<string>();
  const add = (rule: ToolRule): void => {
    const key = JSON.stringify([rule.tool, rule.pattern]);
    if (!seen.has(key)) rules.push(rule);
    seen.add(key);
  };
  for (const text of texts) {
    for (const token of splitOutsideParentheses(withoutFrame(text.trim()))) {
      const { name, pattern, readable } = readToken(token);
      if (name === '') continue;
      const tool = ourName(name);
      if (!readable || tool === undefined) {
        const reported = readable ? name : token;
        if (!unknown.includes(reported)) unknown.push(reported);
      }
      for (const each of patternsOf(tool, pattern)) {
        add(each === undefined ? { tool: tool ?? name } : { tool: tool ?? name, pattern: each });
      }
    }
  }
  return { rules, unknown };
}

function withoutFrame(text: string): string {
  const inner = /^\[(.*)\]$/s.exec(text)?.[1] ?? /^"([^"]*)"$/s.exec(text)?.[1] ?? /^'([^']*)'$/s.exec(text)?.[1];
  return inner ?? text;
}

function splitOutsideParentheses(text: string): string[] {
  const tokens: string[] = [];
  let token = '';
  let depth = 0;
  for (const sign of text) {
    if (depth === 0 && (sign === ',' || /\s/.test(sign))) {
      tokens.push(token);
      token = '';
    } else {
      if (sign === '(') {
        // `Bash (git *)`: the parenthesis narrows the name before it, whatever stands between
        if (depth === 0 && token === '') token = popName(tokens);
        depth++;
      } else if (sign === ')') {
        depth--;
      }
      const quote = depth === 0 && (sign === '"' || sign === "'");
      if (!quote) token += sign;
      if (depth < 0) depth = 0;
    }
  }
  tokens.push(token);
  return tokens.filter((each) => each !== '' && each !== '-');
}

function popName(tokens: string[]): string {
  while (tokens.at(-1) === '') tokens.pop();
  return tokens.pop() ?? '';
}

function readToken(token: string): { name: string; pattern: string | undefined; readable: boolean } {
  const open = token.indexOf('(');
  if (open < 0) return { name: token, pattern: undefined, readable: !token.includes(')') };
  const name = token.slice(0, open);
  const pattern = token.slice(open + 1, -1).trim();
  if (!token.endsWith(')') || !balanced(token) || name === '' || pattern === '') {
    return { name, pattern: '', readable: false };
  }
  return { name, pattern, readable: true };
}

function balanced(token: string): boolean {
  let depth = 0;
  for (const [index, sign] of [...token].entries()) {
    if (sign === '(') depth++;
    else if (sign === ')' && --depth === 0 && index < [...token].length - 1) return false;
  }
  return depth === 0;
}

/** Our name of a tool, a name that stands as it is (MCP, globs), or `undefined` for one we do not know. */
function ourName(name: string): string | undefined {
  if (name.startsWith('mcp__') || name.includes('*')) return name;
  return toolOfName(name);
}

function patternsOf(tool: string | undefined, pattern: string | undefined): (string | undefined)[] {
  if (pattern === undefined || pattern === '*') return [undefined];
  if (tool === 'run_skill') return pattern.split(',').map((each) => each.trim());
  if (tool === 'shell') return [pattern.replace(/\s*:\*$/, ' *').trim()];
  return [pattern];
}

/** Whether the rule's name, its wildcards and `mcp__server` for all tools of a server included, covers the tool. */
function coversTool({ tool }: ToolRule, toolName: string): boolean {
  return namesOf(toolName).some(
    (name) =>
      tool === name ||
      (tool.includes('*') && wildcardMatches(tool, name)) ||
      (name.startsWith(`${tool}__`) && isServer(tool)),
  );
}

const isServer = (tool: string): boolean => /^mcp__(?:(?!__).)+$/.test(tool);

/**
 * Whether the rules together grant the whole call. Shell patterns must cover every part of a compound
 * command, each part by one of them, and cover none with substitutions, redirections or comments; a path
 * pattern is a glob relative to the working folder; `domain:` patterns match the host of a URL.
 */
export function allows(rules: readonly ToolRule[], toolName: string, subject: string): boolean {
  const covering = rules.filter((rule) => coversTool(rule, toolName));
  if (covering.some((rule) => rule.pattern === undefined)) return true;
  const patterns = covering.map((rule) => rule.pattern ?? '').filter((pattern) => pattern !== '');
  if (patterns.length === 0) return false;
  if (toolName === 'shell') {
    const parts = simpleCommands(subject);
    if (!parts || parts.length === 0) return false;
    return parts.every((part) => patterns.some((pattern) => commandMatches(pattern, part)));
  }
  return patterns.some((pattern) => subjectMatches(pattern, toolName, subject));
}

/**
 * Whether some rule refuses the call. Broad where `allows` is strict: any part of a compound command
 * counts, in substitutions and behind `sudo`, `sh -c` and the like too; a shell pattern without `*`
 * refuses the command with further arguments; a path pattern refuses what lies below a folder, and
 * without `/` a name at any depth, in either case of letters.
 */
export function denies(rules: readonly ToolRule[], toolName: string, subject: string): boolean {
  const covering = rules.filter((rule) => coversTool(rule, toolName));
  if (covering.some((rule) => !rule.pattern)) return true;
  if (covering.length === 0) return false;
  const patterns = covering.map((rule) => rule.pattern ?? '');
  if (toolName === 'shell') {
    const inner = possibleCommands(subject);
    if (!inner) return true;
    const commands = [subject.trim(), ...inner];
    return patterns.some((pattern) => {
      const broad = pattern.includes('*') ? pattern : `${pattern} *`;
      return commands.some((command) => commandMatches(broad, command));
    });
  }
  return patterns.some((pattern) => subjectDenied(pattern, toolName, subject));
}

/** `git *` is `git` alone or with arguments, never `gitk`. */
function commandMatches(pattern: string, command: string): boolean {
  const folded = pattern.replace(/[ \t]+/g, ' ');
  if (wildcardMatches(folded, command)) return true;
  return folded.endsWith(' *') && wildcardMatches(folded.slice(0, -2), command);
}

function subjectMatches(pattern: string, toolName: string, subject: string): boolean {
  if (PATH_TOOLS.includes(toolName)) return pathMatches(cleanPattern(pattern), cleanPath(subject));
  if (toolName === 'web_fetch') return urlMatches(pattern, subject);
  return wildcardMatches(pattern, subject);
}

function subjectDenied(pattern: string, toolName: string, subject: string): boolean {
  if (!PATH_TOOLS.includes(toolName)) {
    return subjectMatches(pattern.toLowerCase(), toolName, subject.toLowerCase());
  }
  const cleaned = cleanPattern(pattern).toLowerCase();
  const glob = cleaned.includes('/') ? cleaned : `**/${cleaned}`;
  const path = cleanPath(subject).toLowerCase();
  return pathMatches(glob, path) || pathMatches(`${glob}/**`, path);
}

function cleanPattern(pattern: string): string {
  const slashed = pattern
    .replaceAll('\\', '/')
    .replace(/^\/\/+/, '/')
    .replace(/^(?:\.\/)+/, '');
  return slashed.endsWith('/') ? `${slashed}**` : slashed;
}

function cleanPath(subject: string): string {
  return posix.normalize(subject.replaceAll('\\', '/')).replace(/(?<=.)\/$/, '');
}

function urlMatches(pattern: string, subject: string): boolean {
  const domain = /^domain:\s*(.+)$/i.exec(pattern)?.[1];
  if (domain === undefined) return wildcardMatches(pattern, subject);
  if (!URL.canParse(subject)) return false;
  return wildcardMatches(domain.toLowerCase(), new URL(subject).hostname.replace(/\.$/, ''));
}

/**
 * The tools that a child gets: the parent's that `allowed` names (all when unset), without those
 * that `disallowed` refuses whatever the call. Rules with patterns keep their tool in the list and
 * decide call by call, through `allows` and `denies`.
 */
export function narrowTools(
  parentTools: readonly string[],
  allowed: readonly ToolRule[] | undefined,
  disallowed: readonly ToolRule[],
): string[] {
  return parentTools.filter(
    (name) =>
      (allowed === undefined || allowed.some((rule) => coversTool(rule, name))) &&
      !disallowed.some((rule) => !rule.pattern && coversTool(rule, name)),
  );
}
