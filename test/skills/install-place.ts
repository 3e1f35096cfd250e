import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  applyInstall,
  type InstallContext,
  type InstallPlan,
  type InstallRequest,
  planInstall,
  planUpdate,
} from '../../src/skills/install/install.ts';
import type { InstallPlace } from '../../src/skills/install/place.ts';
import { SkillFolder } from './folder.ts';

/** A project to install into, beside sources. */
export class InstallFolder extends SkillFolder {
  readonly place: InstallPlace = { scope: 'project', folder: join(this.project, '.reasonix'), base: this.project };
  readonly lock = join(this.place.folder, 'skills.lock');

  context(more: Partial<InstallContext> = {}): InstallContext {
    return { place: this.place, signal: new AbortController().signal, ...more };
  }

  plan(source: string, more: Partial<InstallRequest & InstallContext> = {}): Promise<InstallPlan> {
    const { ref, skills, cwd = this.path, ...context } = more;
    return planInstall({ source, cwd, ref, skills }, this.context(context));
  }

  async install(source: string, more: Partial<InstallRequest & InstallContext> = {}): Promise<InstallPlan> {
    const plan = await this.plan(source, more);
    await applyInstall(plan, new AbortController().signal);
    return plan;
  }

  async update(name?: string, more: Partial<InstallContext> = {}): Promise<InstallPlan> {
    const plan = await planUpdate(name, this.context(more));
    await applyInstall(plan, new AbortController().signal);
    return plan;
  }

  /** A repository of what lies in a folder; `commit` takes what changed. */
  repository(folder: string): {
    url: string;
    commit: (message?: string) => string;
    git: (...args: string[]) => string;
  } {
    const path = join(this.path, folder);
    const git = (...args: string[]): string =>
      execFileSync(
        'git',
        ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'commit.gpgsign=false', ...args],
        {
          cwd: path,
          encoding: 'utf8',
          env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
        },
      ).trim();
    git('init', '--quiet', '--initial-branch=main');
    const commit = (message = 'more'): string => {
      git('add', '--all');
      git('commit', '--quiet', '--message', message);
      return git('rev-parse', 'HEAD');
    };
    return { url: pathToFileURL(path).href, commit, git };
  }

  /** Everything below the project's settings folder, with modes; nothing when it is not there. */
  installed(): string[] {
    return existsSync(this.place.folder) ? listing(this.place.folder) : [];
  }

  read(path: string): string {
    return readFileSync(join(this.place.folder, path), 'utf8');
  }

  isExecutable(path: string): boolean {
    return (statSync(join(this.place.folder, path)).mode & 0o111) !== 0;
  }
}

export const listing = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
