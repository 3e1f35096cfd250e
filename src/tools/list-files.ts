import { stat } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';
import { memo } from './memo.ts';
import { globFits, ripgrep } from './ripgrep.ts';
import { problem } from './tool-problem.ts';
import type { Workspace } from './workspace.ts';

const MAX_ENTRIES = 500;
const MAX_FILES = 200_000;
const TIMEOUT = 20_000;

interface ListInput {
  path?: string | undefined;
  glob?: string | undefined;
  depth?: number | undefined;
  all?: boolean | undefined;
}

const schemaOf = memo((parameters: Record<string, string>) =>
  z.object({
    path: z.string().optional(),
    glob: z.string().optional(),
    depth: z.number().optional(),
    all: z
      .boolean()
      .optional()
      .describe(parameters.all ?? ''),
  }),
);

/** Lists the files below a folder; what is too much to list becomes folders with counts. */
export function listFilesTool(workspace: Workspace): Tool<ListInput> {
  const { description, parameters } = toolPrompt('list_files');
  return defineTool({
    name: 'list_files',
    description,
    input: schemaOf(parameters),
    effects: 'read',
    subject: ({ path }) => workspace.subject(path ?? '.'),
    async execute({ path = '.', glob, depth, all }, { signal, scratch }) {
      const own = workspace.withScratch(scratch);
      const folder = await own.resolveRead(path);
      if (!(await stat(folder)).isDirectory()) {
        throw problem('is-a-file', { path });
      }
      const everything = all === true || (await own.isReadableExtra(folder));
      const files: string[] = [];
      const end = await ripgrep({
        args: ['--files', '--null', ...(everything ? ['--hidden', '--no-ignore', '--glob=!.git'] : []), '--', folder],
        cwd: folder,
        signal,
        timeout: TIMEOUT,
        separator: '\0',
        take: (file) => {
          const inside = relative(folder, file).split(sep).join('/');
          if (!own.isForbidden(file) && (glob === undefined || globFits(glob, inside))) files.push(inside);
          return files.length < MAX_FILES;
        },
      });
      const shown = own.display(folder);
      if (files.length === 0) {
        const more = everything ? '' : ' Hidden and ignored files are not listed: set all to see them.';
        return `[no files${glob === undefined ? '' : ` that fit ${glob}`} in ${shown}.${more}]`;
      }
      const prefix = shown === '.' ? '' : `${shown.replace(/\/$/, '')}/`;
      const { entries, note } = summarise(files.sort(), depth);
      const notes = [`${files.length} files`, ...note];
      if (end.how !== 'ended') notes.push('the listing was stopped early: give a deeper path');
      return [...entries.map((entry) => prefix + entry), `[${notes.join('; ')}]`].join('\n');
    },
  });
}

/** The files down to `depth`, or as deep as the room allows; what lies below becomes `folder/ (N files)`. */
function summarise(files: readonly string[], depth: number | undefined): { entries: string[]; note: string[] } {
  const wanted = depth === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(depth));
  const deepest = Math.max(...files.reduce((depths, file) => depths.add(file.split('/').length), new Set<number>()));
  let entries = collapse(files, wanted);
  for (let level = Math.min(wanted, deepest) - 1; entries.length > MAX_ENTRIES && level >= 1; level--) {
    entries = collapse(files, level);
  }
  if (entries.length <= MAX_ENTRIES) {
    const collapsed = entries.some((entry) => entry.endsWith(')') && / \(\d+ files?\)$/.test(entry));
    return { entries, note: collapsed ? ['give a folder as path to see into it'] : [] };
  }
  const left = entries.length - MAX_ENTRIES;
  return { entries: entries.slice(0, MAX_ENTRIES), note: [`${left} entries more: narrow with path or glob`] };
}

function collapse(files: readonly string[], depth: number): string[] {
  const counts = new Map<string, number>();
  for (const file of files) {
    const parts = file.split('/');
    const entry = parts.length <= depth ? file : `${parts.slice(0, depth).join('/')}/`;
    counts.set(entry, (counts.get(entry) ?? 0) + 1);
  }
  return Array.from(counts, ([entry, count]) =>
    entry.endsWith('/') ? `${entry} (${count} ${count === 1 ? 'file' : 'files'})` : entry,
  );
}
