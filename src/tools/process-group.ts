import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { systemCode } from './tool-problem.ts';

/** Milliseconds between asking a group to end and killing it. */
const GRACE = 2_000;
const POLL = 20;

/** Groups that run now: they must not outlive this process. */
const running = new Set<number>();
let watching = false;

/** Kills the group at the latest when this process exits. The answer takes that back. */
export function tieToProcess(leader: number): () => void {
  if (!watching) {
    watching = true;
    process.on('exit', () => {
      for (const each of running) signalGroup(each, 'SIGKILL');
    });
  }
  running.add(leader);
  return () => void running.delete(leader);
}

/**
 * Ends every process of the group that `leader` leads: SIGTERM, then SIGKILL after a grace. On
 * Windows, where there are no groups, the tree below `leader` by `taskkill`.
 * @returns whether there was something to end.
 */
export async function endGroup(leader: number, grace = GRACE): Promise<boolean> {
  if (process.platform === 'win32') return endTree(leader);
  if (!signalGroup(leader, 0) || onlyZombies(leader)) return false;
  signalGroup(leader, 'SIGTERM');
  if (await isGone(leader, grace)) return true;
  signalGroup(leader, 'SIGKILL');
  await isGone(leader, 1_000);
  return true;
}

/** False when the group has no process any more. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

async function isGone(leader: number, within: number): Promise<boolean> {
  const deadline = Date.now() + within;
  while (signalGroup(leader, 0) && !onlyZombies(leader)) {
    if (Date.now() >= deadline) return false;
    await delay(POLL);
  }
  return true;
}

/**
 * Whether all that is left of a group is dead and waits to be reaped, which a container without an
 * init may never do. Known on Linux only.
 */
function onlyZombies(leader: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    for (const entry of readdirSync('/proc')) {
      if (!/^\d+$/.test(entry)) continue;
      const [state, , group] = statusOf(entry);
      if (Number(group) === leader && state !== 'Z' && state !== 'X') return false;
    }
    return true;
  } catch {
    return false;
  }
}

/** State, parent and group of a process, nothing when it is gone. The name before them may hold anything. */
function statusOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

async function endTree(leader: number): Promise<boolean> {
  const { execa } = await import('execa');
  const result = await execa('taskkill', ['/pid', String(leader), '/T', '/F'], { reject: false, stdio: 'ignore' });
  return result.exitCode === 0;
}
