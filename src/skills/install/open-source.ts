import { readFile, stat } from 'node:fs/promises';
import { archiveTree } from './archive.ts';
import { leadsOut } from './entry-names.ts';
import type { FetchContext } from './git-source.ts';
import { LIMITS, sizeText } from './limits.ts';
import { joinProblems, refused } from './refused.ts';
import type { Source } from './source.ts';
import { type SourceTree, subtree } from './tree.ts';

/** Gets the bytes of a URL, or fails. Whoever gives it decides which hosts may be asked. */
export type Download = (url: URL, options: { maxBytes: number; signal: AbortSignal }) => Promise<Buffer>;

export interface OpenContext extends FetchContext {
  download?: Download | undefined;
}

/** Fetches a source and lists what is in it. @throws ReasonixError `skill_refused` when that fails or must not be. */
export async function openSource(source: Source, context: OpenContext): Promise<SourceTree> {
  const tree = narrowToTop(await fetchTree(source, context), source);
  const bad = tree.entries.flatMap(({ path }) => {
    const reason = leadsOut(path);
    return reason === undefined ? [] : [`${JSON.stringify(path.slice(0, 200))} ${reason}`];
  });
  if (bad.length > 0)
    throw refused(`the source is refused: ${joinProblems(bad)}`, 'nothing was written; do not trust this source');
  if (source.subfolder === undefined || source.subfolder === '') return tree;
  const part = subtree(tree, source.subfolder);
  if (part.entries.length === 0)
    throw refused(`the source has no folder ${source.subfolder}`, 'check the path inside the source');
  return part;
}

async function fetchTree(source: Source, context: OpenContext): Promise<SourceTree> {
  switch (source.kind) {
    case 'folder':
      return (await import('./folder-source.ts')).folderTree(source.path, context.signal);
    case 'git':
      return (await import('./git-source.ts')).gitTree(source, context);
    case 'npm':
      return (await import('./npm-source.ts')).npmTree(source, context);
    case 'archive':
      return 'url' in source
        ? archiveTree(await downloaded(source.url, context), decodeURIComponent(source.url.pathname))
        : archiveTree(await archiveFile(source.path), source.path);
  }
}

async function archiveFile(path: string): Promise<Buffer> {
  const state = await stat(path);
  if (!state.isFile()) throw refused(`${path} is neither a folder nor a file`);
  if (state.size > LIMITS.totalBytes) {
    throw refused(`${path} has ${sizeText(state.size)}, more than ${sizeText(LIMITS.totalBytes)}`);
  }
  return readFile(path);
}

async function downloaded(url: URL, { download, signal }: OpenContext): Promise<Buffer> {
  if (download === undefined) throw refused(`${url.href} is not fetched: nothing here may use the network`);
  return download(url, { maxBytes: LIMITS.totalBytes, signal });
}

/** Archives of skills, repositories and packages mostly have one folder that holds everything. */
function narrowToTop(tree: SourceTree, source: Source): SourceTree {
  if (source.kind !== 'archive' && source.kind !== 'npm') return tree;
  const tops = new Set(tree.entries.map(({ path }) => path.slice(0, Math.max(0, path.indexOf('/')))));
  const [top = ''] = tops;
  return tops.size === 1 && top !== '' ? subtree(tree, top) : tree;
}
