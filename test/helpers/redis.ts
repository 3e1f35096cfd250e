import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { findProgram } from './postgres.ts';

/** A Redis server with data of its own in a temporary folder. It keeps everything in memory and writes nothing. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Ends the process at once, with all that it held. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

const program = findProgram('redis-server');

/** Whether tests over Redis can run; says so once a file when they cannot. */
export function hasRedis(): boolean {
  if (program === undefined) console.warn('redis-server is not installed: the tests of the queue are left out');
  return program !== undefined;
}

/** `settings` are lines of a `redis.conf`, like `maxmemory-policy allkeys-lru`. */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  if (program === undefined) throw new Error('redis-server is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'reasonix-redis-'));
  const port = await freePort();
  const lines = [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, 'save ""', 'appendonly no', ...settings];
  let server: ChildProcess | undefined;
  const killLater = () => server?.kill('SIGKILL');
  process.once('exit', killLater);

  const start = async () => {
    const started = spawn(program, ['-'], { cwd: folder, stdio: ['pipe', 'ignore', 'ignore'] });
    started.stdin.end(lines.join('\n'));
    server = started;
    while (!(await answers(port))) {
      if (started.exitCode !== null) throw new Error(`redis-server ended with ${started.exitCode}`);
      await delay(20);
    }
  };
  const kill = async () => {
    const running = server;
    server = undefined;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill('SIGKILL');
    await ended;
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill,
    start,
    stop: async () => {
      process.off('exit', killLater);
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Whether something on the port answers a ping. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const settle = (isUp: boolean) => {
      socket.destroy();
      resolve(isUp);
    };
    socket.once('data', (data) => settle(data.toString().startsWith('+PONG')));
    socket.once('error', () => settle(false));
  });
}
