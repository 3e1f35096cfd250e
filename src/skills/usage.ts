import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const fileOf = (reasonixHome: string): string => join(reasonixHome, 'usage.jsonl');

/** Uses that this process has written already; more than it remembers cost a doubled line, which counts once. */
const written = new Set<string>();
const MOST_REMEMBERED = 10_000;

/**
 * Notes that a session has used a skill: one line a skill and session, appended in one piece, so that
 * several processes can write at once. The ledger is a convenience: where it cannot be written, work
 * goes on without it.
 */
export async function recordUse(reasonixHome: string, skill: string, session: string): Promise<void> {
  const key = JSON.stringify([reasonixHome, skill, session]);
  if (written.has(key)) return;
  if (written.size >= MOST_REMEMBERED) written.clear();
  written.add(key);
  const entry = JSON.stringify({ at: new Date().toISOString(), session, skill });
  await append(reasonixHome, entry).catch(() => written.delete(key));
}

async function append(reasonixHome: string, entry: string): Promise<void> {
  await mkdir(reasonixHome, { recursive: true, mode: 0o700 });
  const file = await open(fileOf(reasonixHome), 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    // A writer that was killed may have left half a line, which must not swallow this one.
    const isTorn = size > 0 && last[0] !== 0x0a;
    await file.write(`${isTorn ? '\n' : ''}${entry}\n`);
  } finally {
    await file.close();
  }
}

/** How many sessions have used each skill. Lines that are torn or not ours are passed over; no ledger is no use. */
export async function readUsage(reasonixHome: string): Promise<Map<string, number>> {
  const text = await readFile(fileOf(reasonixHome), 'utf8').catch(() => '');
  const seen = new Set<string>();
  const counts = new Map<string, number>();
  for (const line of text.split('\n')) {
    const entry = parseLine(line);
    if (!entry) continue;
    const key = JSON.stringify([entry.skill, entry.session]);
    if (seen.has(key)) continue;
    seen.add(key);
    counts.set(entry.skill, (counts.get(entry.skill) ?? 0) + 1);
  }
  return counts;
}

function parseLine(line: string): { skill: string; session: string } | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const { skill, session } = JSON.parse(line) as Record<string, unknown>;
    return typeof skill === 'string' && typeof session === 'string' ? { skill, session } : undefined;
  } catch {
    return undefined;
  }
}
