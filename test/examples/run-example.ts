import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
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

/** The examples run on what is built; `npm test` has built it, a test file that is run alone may not have. */
export async function ensureBuilt(): Promise<void> {
  const lock = join(packageRoot, 'node_modules', '.cache', 'ensure-build');
  mkdirSync(dirname(lock), { recursive: true });
  // Two builds at once would clear each other's output away.
  while (!takes(lock)) await setTimeout(200);
  try {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/ensure-build.js'], { cwd: packageRoot });
    if (status !== 0) throw new Error(`the build failed:\n${stderr}`);
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

function takes(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > 120_000) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}
