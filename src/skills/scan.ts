import { basename, sep } from 'node:path';
import { messageOf } from '../core/errors.ts';
import { type Entry, entriesOf, type FileState, kindOf, realPath, statFile } from './folders.ts';
import { type Marketplace, readMarketplace } from './marketplace.ts';
import { compareCodePoints } from './names.ts';
import { PLUGIN_FOLDER, type Plugin, readPlugin } from './plugin.ts';
import { isExcluded, type Root } from './roots.ts';
import { isDocument, isSkillFile, isSkipped } from './scan-names.ts';
import { ScanReport } from './scan-report.ts';
import { Seen } from './seen.ts';
import type { Diagnostic, Skill } from './types.ts';

/** A file that is a skill, or may be one once it is read. */
export interface FoundFile extends FileState {
  file: string;
  layout: Skill['layout'];
  plugin: string | undefined;
  /** Documentation, unless a key of its front matter says otherwise. */
  needsKey: boolean;
  /** Folders between it and its root; the file itself counts too. */
  depth: number;
  /** It is a link, or was reached through one. */
  viaLink: boolean;
}

export interface Scan {
  /** Nearest to the root first, then by path, links to folders last: of two with one name the first wins. */
  found: FoundFile[];
  status: Root['status'];
  diagnostics: Diagnostic[];
}

export interface ScanOptions {
  maxDepth: number;
  excluded: readonly string[];
  /** Is told everything that the answer depends on but the files that were found. */
  seen?: Seen | undefined;
}

/** Looks through one root. Reads folders and the states of files, no file but a plugin's manifest. Never throws. */
export function scanRoot(root: Root, options: ScanOptions): Scan {
  if (root.status !== 'ok') return { found: [], status: root.status, diagnostics: [] };
  return new Scanner(root, options).run();
}

const MOST_FOLDERS = 200_000;

/** What holds for everything below a folder. */
interface Context {
  kind: Root['kind'];
  plugin?: string | undefined;
  depth: number;
  real: string;
  viaLink: boolean;
}

interface More {
  needsKey: boolean;
  viaLink: boolean;
  /** Folders between the context's folder and the file. */
  below?: number;
}

class Scanner {
  readonly #root: Root;
  readonly #options: ScanOptions;
  readonly #seen: Seen;
  readonly #found: FoundFile[] = [];
  readonly #report = new ScanReport();
  /** Real paths of folders that were looked into. */
  readonly #visited = new Set<string>();
  /** Links to folders wait until every real folder was seen, so that a real path wins over a link to it. */
  #links: { path: string; context: Context }[] = [];
  /** Files that plugins bring: they are not skills of the folders around them, too. */
  readonly #ofPlugins = new Set<string>();
  #status: Root['status'] = 'ok';

  constructor(root: Root, options: ScanOptions) {
    this.#root = root;
    this.#options = options;
    this.#seen = options.seen ?? new Seen();
  }

  run(): Scan {
    const { path, real, kind } = this.#root;
    this.#enter(path, { kind, depth: 0, real, viaLink: false });
    while (this.#links.length > 0) this.#followLinks();
    this.#report.depth(path, this.#options.maxDepth);
    // entries were taken in the order of their names, which a stable sort keeps
    const found = this.#found.sort((a, b) => a.depth - b.depth);
    return { found, status: this.#status, diagnostics: this.#report.diagnostics };
  }

  #enter(folder: string, context: Context): void {
    if (this.#visited.has(context.real) || isExcluded(context.real, this.#options.excluded)) return;
    if (this.#visited.size === MOST_FOLDERS) {
      this.#report.add('too-many-folders', folder, `more than ${MOST_FOLDERS} folders: the rest is not looked into`);
    }
    if (this.#visited.size >= MOST_FOLDERS) return;
    this.#visited.add(context.real);
    const entries = this.#list(folder, context);
    if (entries === undefined) return;
    if (entries.some((entry) => entry.name === PLUGIN_FOLDER)) {
      const market = readMarketplace(folder, this.#seen);
      const plugin = readPlugin(folder, this.#seen);
      if (market !== undefined) this.#enterMarketplace(market);
      if (plugin !== undefined) this.#enterPlugin(plugin, context);
      // beside the plugins of a list there may be skills of the repository itself
      if (market === undefined && plugin !== undefined) return;
    }
    if (context.kind === 'agents') this.#takeEntries(entries, context, true);
    else if (!this.#takeSkillFile(entries, context)) this.#takeEntries(entries, context, false);
    // a root that is a skill itself is often a whole collection: its folders count, its texts are the skill's own
    else if (context.depth === 0) this.#takeEntries(entries, context, true);
  }

  /** `SKILL.md` in any case of letters, the exact one first. True when the folder is a skill. */
  #takeSkillFile(entries: Entry[], context: Context): boolean {
    const files = entries.filter(({ name }) => isSkillFile(name));
    if (files.length === 0) return false;
    for (const entry of files) if (entry.is !== 'file') this.#report.entry(entry);
    const [first, ...others] = files
      .filter((entry) => entry.is === 'file')
      .sort((a, b) => Number(b.name === 'SKILL.md') - Number(a.name === 'SKILL.md'));
    if (first === undefined) return false;
    if (first.name !== 'SKILL.md') {
      this.#report.add(
        'file-name-case',
        first.path,
        `the file is named ${first.name}; other programs expect SKILL.md`,
        'info',
      );
    }
    for (const other of others)
      this.#report.add('file-ignored', other.path, `ignored: ${first.name} beside it is the skill`, 'info');
    this.#takeEntry(first, 'folder', context, false);
    return true;
  }

  #takeEntry(entry: Entry, layout: Skill['layout'], context: Context, needsKey: boolean): void {
    const taken = this.#take(entry.path, layout, context, { needsKey, viaLink: entry.isLink });
    if (taken) return;
    // another user of the same home may be able to
    this.#seen.doubt();
    this.#report.entry({ ...entry, is: 'unreadable' });
  }

  #enterMarketplace({ plugins, problems, elsewhere, manifest }: Marketplace): void {
    for (const problem of problems) this.#report.add('plugin', manifest, `${basename(manifest)}: ${problem}`);
    const [first] = elsewhere;
    if (first !== undefined) {
      const count = elsewhere.length === 1 ? 'a plugin lies' : `${elsewhere.length} plugins lie`;
      this.#report.add(
        'plugin-elsewhere',
        manifest,
        `${count} in other repositories and not here, the first is ${first}`,
        'info',
      );
    }
    for (const plugin of plugins) {
      const { real } = this.#root;
      this.#enterPlugin(plugin, { kind: this.#root.kind, depth: 0, real, viaLink: false });
    }
  }

  #enterPlugin({ name, folder, isWhole, skills, agents, problems, manifest }: Plugin, context: Context): void {
    for (const problem of problems) this.#report.add('plugin', manifest, `${basename(manifest)}: ${problem}`);
    const inside: Context = { ...context, plugin: name };
    if (isWhole && context.kind === 'skills') this.#takeSkillFile(this.#list(folder, inside) ?? [], inside);
    for (const [kind, paths] of [
      ['skills', skills],
      ['agents', agents],
    ] as const) {
      for (const path of paths) {
        const is = kindOf(path);
        if (is === 'file' && /\.md$/i.test(path)) {
          const layout = kind === 'agents' ? 'agent' : /^skill\.md$/i.test(basename(path)) ? 'folder' : 'flat';
          this.#take(path, layout, inside, { needsKey: layout !== 'folder', viaLink: false });
        } else if (is === 'folder') {
          const below: Context = { ...inside, kind, depth: 0, real: realPath(path) };
          const isSkill = kind === 'skills' && this.#takeSkillFolder({ path, isLink: false }, below);
          if (!isSkill) this.#enter(path, below);
        }
      }
    }
  }

  #takeEntries(entries: Entry[], context: Context, flatNeedsKey: boolean): void {
    for (const entry of entries) {
      if (entry.is === 'folder') {
        if (!isSkipped(entry.name)) this.#descend(entry, context);
      } else if (context.kind === 'skills' && isSkillFile(entry.name)) {
        // looked at before
      } else if (/\.md$/i.test(entry.name)) {
        this.#takeFlat(entry, context, flatNeedsKey);
      } else if (entry.is !== 'file' && entry.is !== 'other' && !entry.name.startsWith('.')) {
        this.#report.entry(entry);
      }
    }
  }

  #takeFlat(entry: Entry, context: Context, flatNeedsKey: boolean): void {
    if (entry.is !== 'file') {
      this.#report.entry(entry);
      return;
    }
    if (entry.name.startsWith('.')) return;
    const isAgent = context.kind === 'agents';
    const needsKey =
      flatNeedsKey ||
      this.#root.flatNeedsKey ||
      context.depth > 0 ||
      context.plugin !== undefined ||
      isDocument(entry.name);
    this.#takeEntry(entry, isAgent ? 'agent' : 'flat', context, needsKey);
  }

  #descend(entry: Entry, context: Context): void {
    if (context.depth >= this.#options.maxDepth) {
      this.#report.tooDeep(entry.path);
      return;
    }
    // the usual case needs no listing, and nothing below it is looked at
    const isSkill = context.kind === 'skills' && this.#takeSkillFolder(entry, context);
    if (isSkill) return;
    const inner: Context = { ...context, depth: context.depth + 1, real: `${context.real}${sep}${entry.name}` };
    if (entry.isLink) this.#links.push({ path: entry.path, context: inner });
    else this.#enter(entry.path, inner);
  }

  #takeSkillFolder(entry: Pick<Entry, 'path' | 'isLink'>, context: Context): boolean {
    const { excluded } = this.#options;
    if (excluded.length > 0 && isExcluded(realPath(entry.path), excluded)) return true;
    const file = `${entry.path}${sep}SKILL.md`;
    return this.#take(file, 'folder', context, { needsKey: false, viaLink: entry.isLink, below: 1 });
  }

  #followLinks(): void {
    const links = this.#links.sort((a, b) => a.context.depth - b.context.depth || compareCodePoints(a.path, b.path));
    this.#links = [];
    for (const { path, context } of links) this.#enter(path, { ...context, real: realPath(path), viaLink: true });
  }

  /** False when there is no ordinary file of this path. */
  #take(file: string, layout: Skill['layout'], context: Context, more: More): boolean {
    if (this.#ofPlugins.size > 0 && this.#ofPlugins.has(file)) return true;
    const stat = statFile(file);
    if (stat === undefined) return false;
    if (context.plugin !== undefined) this.#ofPlugins.add(file);
    const found: FoundFile = {
      file,
      size: stat.size,
      mtime: stat.mtimeMs,
      ctime: stat.ctimeMs,
      inode: stat.ino,
      layout,
      plugin: context.plugin,
      needsKey: more.needsKey,
      depth: context.depth + (more.below ?? 0),
      viaLink: context.viaLink || more.viaLink,
    };
    this.#found.push(found);
    return true;
  }

  #list(folder: string, context: Context): Entry[] | undefined {
    try {
      const entries = entriesOf(folder, this.#seen.list(folder));
      for (const { path, isLink } of entries) if (isLink) this.#seen.place(path);
      return entries;
    } catch (error) {
      this.#seen.doubt();
      if (context.depth === 0 && folder === this.#root.path) {
        const { code } = error as NodeJS.ErrnoException;
        this.#status = code === 'ENOENT' ? 'missing' : code === 'ENOTDIR' ? 'not-a-folder' : 'unreadable';
      }
      this.#report.add('folder-unreadable', folder, `skipped: the folder cannot be read (${messageOf(error)})`);
      return undefined;
    }
  }
}
