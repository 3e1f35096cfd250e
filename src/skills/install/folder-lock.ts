import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ReasonixError } from '../../core/errors.ts';
import { describeOwner, isInReach, mayBeAlive, parseOwner, processOwner } from '../../store/owner.ts';

const NAME = '.skills.lock.owner';
const PATIENCE = 10_000;
const PAUSE = 50;
/** Of an owner on another machine or in another container, that nobody here can ask. */
const FORGOTTEN = 10 * 60_000;

interface Holder {
  /** As `processOwner` names it: a number alone may be another process by now, or one of another container. */
  owner: string;
  at: number;
}

/**
 * Lets one process at a time change the skills of a scope. What a process that died left behind does
 * not keep others out.
 * @throws ReasonixError `skill_refused` when another one does not finish in 10 s.
 */
export async function withFolderLock<T>(folder: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const file = join(folder, NAME);
  const mine = await take(file, signal);
  try {
    return await work();
  } finally {
    if ((await contentOf(file)) === mine) await rm(file, { force: true });
  }
}

async function take(file: string, signal: AbortSignal): Promise<string> {
  const until = Date.now() + PATIENCE;
  for (;;) {
    signal.throwIfAborted();
    const mine = JSON.stringify({ owner: processOwner(), at: Date.now() } satisfies Holder);
    if (await create(file, mine)) return mine;
    const theirs = await contentOf(file);
    if (theirs === undefined) continue;
    const holder = holderOf(theirs);
    if (holder === undefined || isGone(holder)) await discard(file, theirs);
    else if (Date.now() > until) {
      throw new ReasonixError('skill_refused', `${describeOwner(holder.owner)} is changing the same skills`, {
        hint: `wait until it is done; if nothing runs, delete ${file}`,
      });
    } else await delay(PAUSE, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

async function create(file: string, content: string): Promise<boolean> {
  // linked into place whole, so that nobody reads a part of it
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.close();
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await handle.close().catch(() => {});
    await rm(draft, { force: true });
  }
}

/** Takes away exactly the lock that was judged: another process may have replaced it meanwhile. */
async function discard(file: string, judged: string): Promise<void> {
  const aside = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await rename(file, aside);
  } catch {
    return;
  }
  if ((await contentOf(aside)) !== judged) await link(aside, file).catch(() => {});
  await rm(aside, { force: true });
}

const contentOf = (file: string): Promise<string | undefined> => readFile(file, 'utf8').catch(() => undefined);

function holderOf(text: string): Holder | undefined {
  try {
    const { owner, at } = JSON.parse(text) as Holder;
    return typeof owner === 'string' && typeof at === 'number' ? { owner, at } : undefined;
  } catch {
    return undefined;
  }
}

function isGone({ owner, at }: Holder): boolean {
  const parsed = parseOwner(owner);
  if (parsed !== undefined && isInReach(parsed)) return !mayBeAlive(owner);
  return Date.now() - at > FORGOTTEN;
}
