import type { Config } from '../config/config.ts';
import type { Folders } from '../config/places.ts';
import type { SkillPlace } from '../session/middleware.ts';
import { readableFolders } from '../skills/readable-folders.ts';
import type { SkillLibrary } from '../skills/types.ts';
import type { Isolation } from '../subagents/isolation.ts';
import type { Tool } from '../tools/define-tool.ts';
import { memo } from '../tools/memo.ts';
import { withoutGitPlace } from '../tools/shell-environment.ts';
import { workspaceTools } from '../tools/workspace-tools.ts';

export interface FolderToolsOptions {
  config: Config;
  folders: Folders;
  isolation: Isolation;
  library(place: SkillPlace): Promise<SkillLibrary>;
  /** Tools on top of the built-in ones. */
  more: readonly Tool[];
}

/** The tools of a working folder. They hold no state of a session: all sessions of a folder share them. */
export function folderTools(options: FolderToolsOptions): (cwd: string, library?: string) => readonly Tool[] {
  const shared = memo((cwd: string, library: string | null) =>
    makeTools({ cwd, library: library ?? undefined }, options, false),
  );
  // Worktrees come and go, each with one session in it.
  return (cwd, library) =>
    options.isolation.isWorktree(cwd) ? makeTools({ cwd, library }, options, true) : shared(cwd, library ?? null);
}

function makeTools(place: SkillPlace, options: FolderToolsOptions, isWorktree: boolean): readonly Tool[] {
  const { cwd } = place;
  const { config, folders, isolation, library, more } = options;
  const { web_fetch: web, shell_timeout, keep_env, enabled } = config.tools;
  // Asked anew each time: a resumed session has not opened its library yet, and skills are installed meanwhile.
  const readable = async (): Promise<string[]> => {
    const own = await readableFolders(await library(place));
    const above = isWorktree && place.library === undefined ? await isolation.callerAbove(cwd) : undefined;
    return above === undefined ? own : [...own, ...(await readableFolders(await library({ cwd: above })))];
  };
  const builtIn = workspaceTools({
    cwd,
    home: folders.home,
    readable,
    allowWrite: config.sandbox.allow_write,
    forbidRead: config.sandbox.forbid_read,
    shell: {
      timeout: shell_timeout / 1000,
      environment: isWorktree ? withoutGitPlace(process.env) : undefined,
      secrets: { keep: keep_env, withhold: keyVariables(config) },
    },
    web: { allowPrivate: web.allow_private, maxBytes: web.max_bytes, timeout: web.timeout },
  });
  const all = [...builtIn, ...more];
  return enabled ? all.filter((tool) => enabled.includes(tool.name)) : all;
}

/** Variables that hold the keys of providers, whatever they are called. */
export const keyVariables = ({ providers }: Config): string[] =>
  providers.flatMap(({ api_key_env }) => (api_key_env === undefined ? [] : [api_key_env]));
