import { readdirSync } from 'node:fs';
import { basename, sep } from 'node:path';
import { messageOf } from '../core/errors.ts';
import { type Entry, entriesOf, type FileState, fileState, kindOf, realPath } from './folders.ts';
import { type Marketplace, readMarketplace } from './marketplace.ts';
import { compareCodePoints } from './names.ts';
import { PLUGIN_FOLDER, type Plugin, readPlugin } from './plugin.ts';
import { isExcluded, type Root } from './roots.ts';
import type { Seen } from './seen.ts';
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
  /** Is told everything that the answer depends on. */
  seen?: Seen | undefined;
}

/** Looks through one root. Reads folders and the states of files, no file but a plugin's manifest. Never throws. */
export function scanRoot(root: Root, options: ScanOptions): Scan {
  if (root.status !== 'ok') return { found: [], status: root.status, diagnostics: [] };
  return new Scanner(root, options).run();
}

const SKIPPED: ReadonlySet<string> = new Set([
  'node_modules',
  'bower_components',
  '__pycache__',
  'venv',
  'references',
  'scripts',
  'assets',
]);
const LONGEST_SKIPPED = Math.max(...[...SKIPPED].map((name) => name.length));
/** Usual company of skills that is never one itself, unless its front matter says so. */
const DOCUMENTS =
  /^(?:readme|changelog|contributing|license|licence|security|code_of_conduct|agents|claude|gemini|notice|authors|todo)(?:[._-].*)?\.md$/i;
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
  readonly #found: FoundFile[] = [];
  readonly #diagnostics: Diagnostic[] = [];
  /** Real paths of folders that were looked into. */
  readonly #visited = new Set<string>();
  /** Links to folders wait until every real folder was seen, so that a real path wins over a link to it. */
  #links: { path: string; context: Context }[] = [];
  #tooDeep: string[] = [];
  /** Files that plugins bring: they are not skills of the folders around them, too. */
  readonly #ofPlugins = new Set<string>();
  #status: Root['status'] = 'ok';

  constructor(root: Root, options: ScanOptions) {
    this.#root = root;
    this.#options = options;
  }

  run(): Scan {
    const { path, real, kind } = this.#root;
    this.#enter(path, { kind, depth: 0, real, viaLink: false });
    while (this.#links.length > 0) this.#followLinks();
    this.#reportDepth();
    // entries were taken in the order of their names, which a stable sort keeps
    const found = this.#found.sort((a, b) => a.depth - b.depth);
    return { found, status: this.#status, diagnostics: this.#diagnostics };
  }

  #enter(folder: string, context: Context): void {
    if (this.#visited.has(context.real) || isExcluded(context.real, this.#options.excluded)) return;
    if (this.#visited.size === MOST_FOLDERS) {
      this.#report('too-many-folders', folder, `more than ${MOST_FOLDERS} folders: the rest is not looked into`);
    }
    if (this.#visited.size >= MOST_FOLDERS) return;
    this.#visited.add(context.real);
    const entries = this.#list(folder, context);
    if (entries === undefined) return;
    if (entries.some((entry) => entry.name === PLUGIN_FOLDER)) {
      const { seen } = this.#options;
      const market = readMarketplace(folder, seen);
      const plugin = readPlugin(folder, seen);
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
    const files = entries.filter((entry) => entry.name.toLowerCase() === 'skill.md');
    for (const entry of files) if (entry.is !== 'file') this.#reportEntry(entry);
    const [first, ...others] = files
      .filter((entry) => entry.is === 'file')
      .sort((a, b) => Number(b.name === 'SKILL.md') - Number(a.name === 'SKILL.md'));
    if (first === undefined) return false;
    if (first.name !== 'SKILL.md') {
      this.#report(
        'file-name-case',
        first.path,
        `the file is named ${first.name}; other programs expect SKILL.md`,
        'info',
      );
    }
    for (const other of others)
      this.#report('file-ignored', other.path, `ignored: ${first.name} beside it is the skill`, 'info');
    this.#takeEntry(first, 'folder', context, false);
    return true;
  }

  #takeEntry(entry: Entry, layout: Skill['layout'], context: Context, needsKey: boolean): void {
    const taken = this.#take(entry.path, layout, context, { needsKey, viaLink: entry.isLink });
    if (!taken) this.#reportEntry({ ...entry, is: 'unreadable' });
  }

  #enterMarketplace({ plugins, problems, elsewhere, manifest }: Marketplace): void {
    for (const problem of problems) this.#report('plugin', manifest, `${basename(manifest)}: ${problem}`);
    const [first] = elsewhere;
    if (first !== undefined) {
      const count = elsewhere.length === 1 ? 'a plugin lies' : `${elsewhere.length} plugins lie`;
      this.#report(
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
    for (const problem of problems) this.#report('plugin', manifest, `${basename(manifest)}: ${problem}`);
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
      } else if (context.kind === 'skills' && entry.name.toLowerCase() === 'skill.md') {
        // looked at before
      } else if (/\.md$/i.test(entry.name)) {
        this.#takeFlat(entry, context, flatNeedsKey);
      } else if (entry.is !== 'file' && entry.is !== 'other' && !entry.name.startsWith('.')) {
        this.#reportEntry(entry);
      }
    }
  }

  #takeFlat(entry: Entry, context: Context, flatNeedsKey: boolean): void {
    if (entry.is !== 'file') {
      this.#reportEntry(entry);
      return;
    }
    if (entry.name.startsWith('.')) return;
    const isAgent = context.kind === 'agents';
    const needsKey =
      flatNeedsKey ||
      this.#root.flatNeedsKey ||
      context.depth > 0 ||
      context.plugin !== undefined ||
      DOCUMENTS.test(entry.name);
    this.#takeEntry(entry, isAgent ? 'agent' : 'flat', context, needsKey);
  }

  #descend(entry: Entry, context: Context): void {
    if (context.depth >= this.#options.maxDepth) {
      this.#tooDeep.push(entry.path);
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
    const state = fileState(file);
    if (state === undefined) return false;
    if (context.plugin !== undefined) this.#ofPlugins.add(file);
    const found: FoundFile = {
      file,
      size: state.size,
      mtime: state.mtime,
      ctime: state.ctime,
      inode: state.inode,
      layout,
      plugin: context.plugin,
      needsKey: more.needsKey,
      depth: context.depth + (more.below ?? 0),
      viaLink: context.viaLink || more.viaLink,
    };
    this.#found.push(found);
    this.#options.seen?.file(file, found, Date.now());
    return true;
  }

  #list(folder: string, context: Context): Entry[] | undefined {
    try {
      const read = readdirSync(folder, { withFileTypes: true });
      const entries = entriesOf(folder, read);
      const { seen } = this.#options;
      if (seen !== undefined) {
        seen.folder(folder, read);
        for (const { path, isLink } of entries) if (isLink) seen.place(path);
      }
      return entries;
    } catch (error) {
      this.#options.seen?.doubt();
      if (context.depth === 0 && folder === this.#root.path) {
        const { code } = error as NodeJS.ErrnoException;
        this.#status = code === 'ENOENT' ? 'missing' : code === 'ENOTDIR' ? 'not-a-folder' : 'unreadable';
      }
      this.#report('folder-unreadable', folder, `skipped: the folder cannot be read (${messageOf(error)})`);
      return undefined;
    }
  }

  #reportEntry(entry: Entry): void {
    const what = {
      broken: ['link-broken', 'skipped: the link leads to nothing'],
      loop: ['link-loop', 'skipped: the link leads to itself'],
      unreadable: ['unreadable', 'skipped: it cannot be read'],
      folder: ['not-a-file', 'skipped: it is a folder, not a file'],
      other: ['not-a-file', 'skipped: it is no ordinary file'],
      file: ['not-a-file', 'skipped'],
    }[entry.is] as [string, string];
    this.#report(what[0], entry.path, what[1]);
  }

  /** One word for all of them: a deep tree has thousands. */
  #reportDepth(): void {
    const [first] = this.#tooDeep;
    if (first === undefined) return;
    const count = this.#tooDeep.length === 1 ? 'a folder' : `${this.#tooDeep.length} folders`;
    const message = `${count} below depth ${this.#options.maxDepth} not looked into, the first is ${first}; skills.max_depth (at most 6) reaches deeper`;
    this.#report('depth-reached', this.#root.path, message, 'info');
  }

  #report(code: string, path: string, message: string, severity: Diagnostic['severity'] = 'warning'): void {
    this.#diagnostics.push({ severity, code, path, message });
  }
}

/** Asked for every folder: a regular expression would cost a tenth of a warm start. */
function isSkipped(name: string): boolean {
  return name.startsWith('.') || (name.length <= LONGEST_SKIPPED && SKIPPED.has(name.toLowerCase()));
}
