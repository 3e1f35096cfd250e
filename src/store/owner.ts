import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who holds a lease, read back from an owner string. */
export interface Owner {
  host: string;
  pid: number;
  /** Tells this process from an earlier one of the same number; empty where the platform has no such thing. */
  token: string;
}

/**
 * A name for this process as a writer: `<hostname>:<pid>:<process start token>:<random>`. Every call
 * gives another one, so that two runtimes in one process are two owners.
 */
export function processOwner(): string {
  return `${hostname()}:${process.pid}:${tokenOf(process.pid) ?? ''}:${randomBytes(6).toString('hex')}`;
}

/** The parts of an owner string, or undefined when it is not one of `processOwner`. */
export function parseOwner(owner: string): Owner | undefined {
  const match = /^(.+):(\d+):([^:]*):[^:]+$/.exec(owner);
  if (!match) return undefined;
  return { host: match[1] ?? '', pid: Number(match[2]), token: match[3] ?? '' };
}

/** An owner as people read it. */
export function describeOwner(owner: string): string {
  const parsed = parseOwner(owner);
  return parsed ? `process ${parsed.pid} on ${parsed.host}` : owner;
}

/** False only when the owner is certainly gone: a process of this machine that no longer lives. */
export function mayBeAlive(owner: string): boolean {
  const parsed = parseOwner(owner);
  if (!parsed || !isInReach(parsed)) return true;
  try {
    process.kill(parsed.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return parsed.token === '' || tokenOf(parsed.pid) === parsed.token;
}

/** Whether a process here can tell if the owner lives: nobody can of another machine, boot or container. */
export const isInReach = ({ host, token }: Owner): boolean =>
  host === hostname() && spaceOf(token) === spaceOf(tokenOf(process.pid) ?? '');

/**
 * On Linux `<start time>-<boot id>-<pid namespace>`: a recycled pid has another start time, and pids of
 * another boot or container say nothing here. A zombie counts as gone.
 */
function tokenOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return '';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    space ??= readSpace();
    return `${fields[19]}-${space}`;
  } catch {
    return undefined;
  }
}

let space: string | undefined;

function readSpace(): string {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
  const namespace = readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
  return `${boot}-${namespace}`;
}

const spaceOf = (token: string): string => token.slice(token.indexOf('-') + 1);
