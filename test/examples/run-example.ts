import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../src/core/prompts.ts';

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A temporary folder, and the home of everything that is run in it. */
export class Place {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'reasonix-examples-')));

  /** Runs node on files of the package, with nothing of this machine's user in its environment. */
  node(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
    return this.#run(process.execPath, args, env);
  }

  /** Runs a line for a shell, as somebody would paste it. */
  shell(line: string): Promise<Ended> {
    return this.#run('/bin/sh', ['-c', line], {});
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  #run(program: string, args: readonly string[], env: Record<string, string>): Promise<Ended> {
    const { PATH = '' } = process.env;
    return new Promise((resolve) => {
      const child = execFile(
        program,
        args,
        { cwd: packageRoot, env: { PATH, HOME: this.path, ...env }, maxBuffer: 16 * 1024 * 1024 },
        (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
      );
      child.stdin?.end();
    });
  }
}
