/** One entry of a source, before anything of it is written. Folders are only named by what is in them. */
export interface SourceEntry {
  /** From the top of the source, with `/`. */
  path: string;
  /** `other` is a device, a pipe, a nested repository. */
  kind: 'file' | 'link' | 'other';
  /** Bytes of the content, as declared. */
  size: number;
  executable: boolean;
}

/** What a source holds. Nothing of it is on disk where it could be run or followed. */
export interface SourceTree {
  /** Names a skill at the top that says no name itself. */
  name: string;
  /** A commit, or the integrity of an archive (`sha512-…`); a folder has none. */
  revision: string | null;
  entries: readonly SourceEntry[];
  /** Contents of files by their path. @throws ReasonixError `skill_refused` when one is not what was declared. */
  read(paths: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>;
}

/** The part of a tree below a folder. */
export function subtree(tree: SourceTree, folder: string): SourceTree {
  const prefix = `${folder}/`;
  return {
    name: folder.slice(folder.lastIndexOf('/') + 1),
    revision: tree.revision,
    entries: tree.entries
      .filter(({ path }) => path.startsWith(prefix))
      .map((entry) => ({ ...entry, path: entry.path.slice(prefix.length) })),
    read: async (paths) => {
      const contents = await tree.read(paths.map((path) => prefix + path));
      return new Map([...contents].map(([path, bytes]) => [path.slice(prefix.length), bytes]));
    },
  };
}
