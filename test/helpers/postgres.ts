import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';

/** A Postgres server with data of its own in a temporary folder. */
export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  /** Stops it the fast way and starts it again on the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The path of a program, looked for in `folders` and then on the path of the environment. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const all = [...folders, ...(process.env.PATH ?? '').split(delimiter)];
  return all.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** The folder of the server's programs, or undefined when Postgres is not installed. */
export function postgresPrograms(): string | undefined {
  const installed = '/usr/lib/postgresql';
  const versions = existsSync(installed) ? readdirSync(installed).sort((a, b) => Number(b) - Number(a)) : [];
  const initdb = findProgram(
    'initdb',
    versions.map((version) => join(installed, version, 'bin')),
  );
  return initdb && dirname(initdb);
}

/** Postgres refuses to run as root; then it runs as its own user. */
export function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

export async function startPostgres(): Promise<PostgresServer> {
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error('Postgres is not installed');
  const user = serverUser();
  const folder = mkdtempSync(join(tmpdir(), 'reasonix-pg-'));
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  execFileSync(join(programs, 'initdb'), ['-D', data, '-U', 'reasonix', '-A', 'trust', '-E', 'UTF8', '--no-sync'], {
    ...user,
    cwd: folder,
    stdio: 'ignore',
  });
  const port = await freePort();
  let server: ChildProcess | undefined;
  const start = async () => {
    // Its processes may be killed, but not the machine: what it has written is there without waiting for the disk.
    const settings = [
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${folder}`,
      'max_connections=200',
      'fsync=off',
    ];
    const flags = settings.flatMap((setting) => ['-c', setting]);
    const started = spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), ...flags], {
      ...user,
      cwd: folder,
      stdio: 'ignore',
    });
    server = started;
    const isReady = () => {
      try {
        execFileSync(join(programs, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
        return true;
      } catch {
        return false;
      }
    };
    while (!isReady()) {
      if (started.exitCode !== null) throw new Error(`postgres ended with ${started.exitCode}`);
      await delay(50);
    }
  };
  const halt = async () => {
    const running = server;
    server = undefined;
    if (!running || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill('SIGINT');
    await ended;
  };
  await start();
  return {
    url: `postgres://reasonix@127.0.0.1:${port}/postgres`,
    port,
    restart: async () => {
      await halt();
      await start();
    },
    stop: async () => {
      await halt();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
