import type { Entry } from './folders.ts';
import type { Diagnostic } from './types.ts';

/** What a look through a root found odd. */
export class ScanReport {
  readonly diagnostics: Diagnostic[] = [];
  #tooDeep = 0;
  #firstTooDeep = '';

  add(code: string, path: string, message: string, severity: Diagnostic['severity'] = 'warning'): void {
    this.diagnostics.push({ severity, code, path, message });
  }

  /** An entry that is not the file it should be. */
  entry({ is, path }: Pick<Entry, 'is' | 'path'>): void {
    const [code, message] = {
      broken: ['link-broken', 'skipped: the link leads to nothing'],
      loop: ['link-loop', 'skipped: the link leads to itself'],
      unreadable: ['unreadable', 'skipped: it cannot be read'],
      folder: ['not-a-file', 'skipped: it is a folder, not a file'],
      other: ['not-a-file', 'skipped: it is no ordinary file'],
      file: ['not-a-file', 'skipped'],
    }[is] as [string, string];
    this.add(code, path, message);
  }

  tooDeep(path: string): void {
    if (this.#tooDeep++ === 0) this.#firstTooDeep = path;
  }

  /** One word for all folders that were too deep: a deep tree has thousands. */
  depth(root: string, maxDepth: number): void {
    if (this.#tooDeep === 0) return;
    const count = this.#tooDeep === 1 ? 'a folder' : `${this.#tooDeep} folders`;
    const message = `${count} below depth ${maxDepth} not looked into, the first is ${this.#firstTooDeep}; skills.max_depth (at most 6) reaches deeper`;
    this.add('depth-reached', root, message, 'info');
  }
}
