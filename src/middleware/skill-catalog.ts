import { FOLDER_TOOLS } from '../core/tool-names.ts';
import {
  defineMiddleware,
  type Middleware,
  type SessionInfo,
  type SessionSetup,
  type SkillPlace,
} from '../session/middleware.ts';
import { type Catalog, describeSkills } from '../skills/catalog.ts';
import type { ListOptions, ListResult } from '../skills/list-filter.ts';
import type { SkillLibrary } from '../skills/types.ts';
import type { SkillService } from '../tools/skill-service.ts';
import { skillTools } from '../tools/skill-tools.ts';
import { rememberSkills, skillNotice } from './skill-notice.ts';

export interface SkillListing {
  service: SkillService;
  library(place: SkillPlace): Promise<SkillLibrary>;
  /** Which skills are listed in this session, by filters and required skills. */
  listed(library: SkillLibrary, info: SessionInfo): Promise<ListResult>;
  style: ListOptions['style'];
  /** New sessions can run children beside their turns: roots, and children whose skill names `wait_subagents`. */
  background: boolean;
  /** Most bytes of catalog lines. */
  maxBytes: number;
  /** Folder that may be emptied at any time. */
  cache: string;
}

/**
 * Skills in the prompt as a catalog: a line each in the description of `run_skill`, frozen with the
 * session. When a filter hides some, `search_skills` comes with it.
 */
export function skillCatalog(options: SkillListing): Middleware {
  return defineMiddleware({
    name: 'skill-catalog',
    prepareSession: (setup) => addSkillTools(setup, options, false),
    startTurn: (turn) => skillNotice(turn, options),
  });
}

/** What `run_skill` says in a session that starts now; skill folders only where a tool reads or writes in them. */
export async function catalogFor(
  info: SessionInfo,
  library: SkillLibrary,
  { listed: choose, style, maxBytes }: Pick<SkillListing, 'listed' | 'style' | 'maxBytes'>,
  lazy: boolean,
  hasFolders = true,
): Promise<Catalog> {
  const { listed, required } = await choose(library, info);
  // What is written into the folders of packed skills is none of the session's.
  const roots = hasFolders && info.library === undefined ? library.roots : [];
  const folders = roots.filter((root) => root.status === 'ok' && root.scope !== 'builtin').map((root) => root.path);
  return describeSkills({ skills: library.skills, listed, required, lazy, style, maxBytes, folders });
}

/** Adds the tools that reach skills; none when there are no skills at all. */
export async function addSkillTools(setup: SessionSetup, options: SkillListing, lazy: boolean): Promise<void> {
  const { service } = options;
  // Few children start children beside their turns, and all of them would carry the definitions.
  const background = options.background && (setup.kind === 'root' || setup.isNamed('wait_subagents'));
  const library = await options.library(setup);
  if (library.skills.length === 0) return;
  const tools = skillTools(service);
  if (!setup.isNew) {
    for (const tool of [tools.run('', background), ...tools.background, tools.search, tools.applyDiff])
      setup.addTool(tool);
  } else {
    // Most children may start none: nobody would read their catalog.
    if (setup.isAllowed('run_skill') || setup.isAllowed('search_skills')) {
      const catalog = await catalogFor(setup, library, options, lazy, actsOnFolders(setup));
      setup.addTool(tools.run(catalog.text, background));
      if (lazy || catalog.isPartial) setup.addTool(tools.search);
    }
    if (library.skills.some(({ isolation }) => isolation === 'worktree')) setup.addTool(tools.applyDiff);
    if (setup.kind === 'root' && setup.library === undefined) await rememberSkills(setup, library, options.cache);
  }
  for (const tool of [...tools.others, ...(background ? tools.background : [])]) setup.addTool(tool);
}

/** MCP servers may come later, and read and write files, too. */
const actsOnFolders = ({ tools, isAllowed }: SessionSetup): boolean =>
  tools.some(
    ({ name }) => (FOLDER_TOOLS.includes(name) || name === 'call_tool' || name.startsWith('mcp__')) && isAllowed(name),
  );
