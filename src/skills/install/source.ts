import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ReasonixError } from '../../core/errors.ts';
import { leadsOut } from './entry-names.ts';

export type SourceKind = 'folder' | 'archive' | 'git' | 'npm';

/** Where skills come from. `subfolder` narrows what is looked at. */
export type Source = { subfolder?: string | undefined; ref?: string | undefined } & (
  | { kind: 'folder'; path: string }
  | { kind: 'archive'; path: string }
  | { kind: 'archive'; url: URL }
  | { kind: 'git'; url: string; protocol: 'https' | 'ssh' | 'file' }
  | { kind: 'npm'; spec: string; path?: string | undefined }
);

export interface ParseContext {
  /** Relative paths start here. */
  base: string;
  /** A branch, tag or commit; for repositories only. */
  ref?: string | undefined;
}

const ARCHIVE = /\.(?:zip|tar|tgz|tar\.gz)$/i;
const PACKAGE = /^(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*$/i;
const RANGE = /^[\w.^~<>=*|+ -]+$/;

/**
 * Reads a source as it is written on a command line or in a lock: a path, a URL, `owner/repo`,
 * `npm:name`. What exists as a path is one. Nothing is fetched.
 * @throws ReasonixError `usage` saying what a source may be.
 */
export function parseSource(written: string, context: ParseContext): Source {
  const text = written.trim();
  if (text === '' || text.startsWith('-') || /[\0-\x1f\x7f]/.test(text)) throw notASource(written);
  const source = parseKind(text, context);
  if (source.ref !== undefined && context.ref !== undefined && source.ref !== context.ref) {
    throw usage(`the source already says the revision ${source.ref}`, 'leave one of them out');
  }
  const ref = context.ref ?? source.ref;
  if (ref === undefined) return source;
  if (source.kind !== 'git') {
    throw usage(
      `a revision is for repositories, and ${text} is none`,
      'leave --ref out; a package takes npm:name@range',
    );
  }
  return { ...source, ref: checkedRef(ref) };
}

function parseKind(text: string, { base }: ParseContext): Source {
  if (text.startsWith('npm:')) return npmSource(text.slice(4), base);
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined) return urlSource(text, scheme);
  // eight letters at most before the colon would be a drive or a helper of git, never a host here
  if (/^\w[\w.-]*@[\w][\w.-]*:(?!\/\/)[^-].*$/.test(text)) {
    return { kind: 'git', protocol: 'ssh', ...withoutFragment(text, (url) => url) };
  }
  return pathSource(text, base) ?? githubSource(text) ?? missing(text, base);
}

function pathSource(text: string, base: string): Source | undefined {
  const path = absolutePath(text, base);
  if (existsSync(path)) {
    return statSync(path).isDirectory() ? { kind: 'folder', path } : { kind: 'archive', path };
  }
  const hash = text.lastIndexOf('#');
  if (hash <= 0) return undefined;
  const before = pathSource(text.slice(0, hash), base);
  return before && { ...before, subfolder: checkedSubfolder(text.slice(hash + 1)) };
}

function absolutePath(text: string, base: string): string {
  return text === '~' || /^~[/\\]/.test(text) ? join(homedir(), text.slice(1)) : resolve(base, text);
}

/** `owner/repo`, `owner/repo/path/in/it`, each with `@ref`. */
function githubSource(text: string): Source | undefined {
  const match = /^([a-z0-9][a-z0-9-]*)\/([\w.-]+)((?:\/[^@\s]*)?)(?:@(\S+))?$/i.exec(text);
  const [, owner = '', repository = '', path = '', ref] = match ?? [];
  if (match === null || /^\.+$/.test(repository)) return undefined;
  return github(owner, repository, path, ref);
}

function github(owner: string, repository: string, path: string, ref: string | undefined): Source {
  const folder = path.replace(/^\/+|\/+$/g, '');
  return {
    kind: 'git',
    protocol: 'https',
    url: `https://github.com/${owner}/${repository.replace(/\.git$/, '')}.git`,
    ...(folder === '' ? {} : { subfolder: checkedSubfolder(folder) }),
    ...(ref === undefined ? {} : { ref: checkedRef(ref) }),
  };
}

function urlSource(text: string, scheme: string): Source {
  const plain = scheme.replace(/^git\+/, '');
  const written = text.slice(scheme.length - plain.length);
  if (!['https', 'http', 'ssh', 'file'].includes(plain) || !URL.canParse(written)) {
    throw usage(`sources are not fetched over ${scheme}://`, 'use https://, ssh:// or file://');
  }
  const url = new URL(written);
  if (url.password !== '' || (plain !== 'ssh' && url.username !== '')) {
    throw usage(
      'the address holds a user name or a password, which would be written to skills.lock',
      'leave it out; git asks its own credential helpers',
    );
  }
  if (/^-/.test(url.hostname) || /^-/.test(url.username) || /^\/+-/.test(url.pathname)) throw notASource(text);
  const subfolder = subfolderOf(url.hash);
  url.hash = '';
  if (plain === 'file') return fileSource(url, subfolder);
  if (plain !== 'ssh' && ARCHIVE.test(url.pathname)) return { kind: 'archive', url, ...subfolder };
  if (plain === 'http') {
    throw usage('repositories are not fetched over http://, which anybody on the way can change', 'use https://');
  }
  const browsed = plain === 'https' && url.hostname === 'github.com' ? browsedOnGithub(url, subfolder) : undefined;
  return browsed ?? { kind: 'git', protocol: plain as 'https' | 'ssh', url: url.href, ...subfolder };
}

function fileSource(url: URL, subfolder: { subfolder?: string }): Source {
  if (url.hostname !== '') throw usage(`${url.href} names a host`, 'write file:///path');
  if (ARCHIVE.test(url.pathname)) return { kind: 'archive', path: fileURLToPath(url), ...subfolder };
  return { kind: 'git', protocol: 'file', url: url.href, ...subfolder };
}

/** The address of a page of GitHub: `/owner/repo`, `/owner/repo/tree/REF/path`. */
function browsedOnGithub(url: URL, { subfolder }: { subfolder?: string }): Source | undefined {
  const match = /^\/([^/]+)\/([^/]+)(?:\/(?:tree|blob)\/([^/]+)(\/.*)?)?\/?$/.exec(decodeURIComponent(url.pathname));
  if (match === null) return undefined;
  const [, owner = '', repository = '', ref, path = ''] = match;
  return github(owner, repository, subfolder ?? path.replace(/\/SKILL\.md$/i, ''), ref);
}

function npmSource(text: string, base: string): Source {
  const { url: spec, ...subfolder } = withoutFragment(text, (each) => each);
  const path = /^(?:file:)?((?:~|\.{0,2})[/\\].*|\.{1,2})$/.exec(spec)?.[1];
  if (path !== undefined) {
    const absolute = absolutePath(path, base);
    return { kind: 'npm', spec: absolute, path: absolute, ...subfolder };
  }
  const at = spec.indexOf('@', 1);
  const name = at < 0 ? spec : spec.slice(0, at);
  const range = at < 0 ? undefined : spec.slice(at + 1);
  if (!PACKAGE.test(name) || (range !== undefined && !RANGE.test(range))) {
    throw usage(`"${text}" is no package of npm`, 'write npm:name, npm:@scope/name@^1.2 or npm:./folder');
  }
  return { kind: 'npm', spec, ...subfolder };
}

function withoutFragment(text: string, read: (before: string) => string): { url: string; subfolder?: string } {
  const hash = text.indexOf('#');
  if (hash < 0) return { url: read(text) };
  return { url: read(text.slice(0, hash)), subfolder: checkedSubfolder(text.slice(hash + 1)) };
}

function subfolderOf(hash: string): { subfolder?: string } {
  return hash.length > 1 ? { subfolder: checkedSubfolder(decodeURIComponent(hash.slice(1))) } : {};
}

function checkedSubfolder(text: string): string {
  const folder = text.replace(/^\.\/+|\/+$/g, '').replace(/\/SKILL\.md$/i, '');
  const reason = leadsOut(folder);
  if (reason !== undefined)
    throw usage(`the folder "${text}" inside the source ${reason}`, 'name a folder below its top');
  return folder;
}

/** A branch, tag or commit that git cannot take for an option or for more than one. */
function checkedRef(ref: string): string {
  if (/^[\w][\w./+@-]*$/.test(ref) && !ref.includes('..') && !ref.includes('@{') && !ref.endsWith('.lock')) return ref;
  throw usage(`"${ref}" is no branch, tag or commit`, 'write its name alone');
}

/** How a lock names a source, so that `parseSource` reads it again: paths below `base` relative to it. */
export function sourceText(source: Source, base: string): string {
  const fragment = source.subfolder === undefined ? '' : `#${source.subfolder}`;
  switch (source.kind) {
    case 'git':
      return source.url + fragment;
    case 'npm':
      return `npm:${source.path === undefined ? source.spec : portablePath(source.path, base)}${fragment}`;
    case 'folder':
      return portablePath(source.path, base) + fragment;
    case 'archive':
      return ('url' in source ? source.url.href : portablePath(source.path, base)) + fragment;
  }
}

function portablePath(path: string, base: string): string {
  const inside = relative(base, path);
  if (inside === '') return '.';
  if (inside.startsWith('..') || isAbsolute(inside)) return path;
  return `./${inside.split(sep).join('/')}`;
}

function missing(text: string, base: string): never {
  if (/^(?:\.{0,2}|~)[/\\]/.test(text) || ARCHIVE.test(text)) {
    throw usage(`${resolve(base, text)} does not exist`, 'check the path');
  }
  throw notASource(text);
}

const notASource = (text: string): ReasonixError =>
  usage(`"${text}" is no source of skills`, 'give a folder, a .zip or .tar.gz, a git URL, owner/repo or npm:name');

const usage = (message: string, hint: string): ReasonixError => new ReasonixError('usage', message, { hint });
