import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type OpenedLibrary, openLibrary } from '../../src/skills/library.ts';
import type { LibraryOptions } from '../../src/skills/types.ts';

/** A temporary folder with a project (a repository), a home and a helper to fill them. */
export class SkillFolder implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'reasonix-skills-')));
  readonly home = join(this.path, 'home');
  readonly project = join(this.path, 'project');

  constructor() {
    mkdirSync(this.home);
    mkdirSync(join(this.project, '.git'), { recursive: true });
  }

  write(path: string, content: string | Uint8Array): string {
    const file = join(this.path, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  skill(folder: string, header: string, body = 'Body\n'): string {
    return this.write(join(folder, 'SKILL.md'), `---\n${header}\n---\n${body}`);
  }

  options(more: Partial<LibraryOptions> = {}): LibraryOptions {
    return { cwd: this.project, home: this.home, reasonixHome: join(this.home, '.reasonix'), ...more };
  }

  open(more: Partial<LibraryOptions> = {}): Promise<OpenedLibrary> {
    return openLibrary(this.options(more));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export const namesOf = (library: OpenedLibrary): string[] => library.skills.map((skill) => skill.name);

export const codesOf = (diagnostics: readonly { code: string }[]): string[] => diagnostics.map(({ code }) => code);
