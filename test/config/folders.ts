import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type LoadedConfig, type LoadOptions, loadConfig } from '../../src/config/cascade.ts';
import { ReasonixError } from '../../src/core/errors.ts';

/** A home and a repository in it, in a temporary folder. */
export class TestFolders {
  readonly root = mkdtempSync(join(tmpdir(), 'reasonix-config-'));
  readonly home = join(this.root, 'home');
  readonly project = join(this.root, 'project');

  constructor() {
    mkdirSync(this.home);
    mkdirSync(join(this.project, '.git'), { recursive: true });
  }

  /** Writes a file, named from the temporary folder: `project/reasonix.toml`. */
  write(name: string, text: string | Uint8Array): string {
    const path = join(this.root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  load(options: Partial<LoadOptions> = {}): Promise<LoadedConfig> {
    return loadConfig({ cwd: this.project, home: this.home, ...options });
  }

  /** The error that loading gives. */
  async fault(options: Partial<LoadOptions> = {}): Promise<ReasonixError> {
    const error = await this.load(options).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!ReasonixError.isInstance(error)) throw new Error(`expected a ReasonixError, got ${String(error)}`);
    return error;
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
