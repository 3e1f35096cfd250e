import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const fileOf = (reasonixHome: string): string => join(reasonixHome, 'usage.jsonl');

/** Skill and session pairs that this process has written already. */
const written = new Set<string>();

/**
 * Notes that a session has used a skill: one line a skill and session, appended whole, so that several
 * processes can write at once.
 */
export async function recordUse(reasonixHome: string, skill: string, session: string): Promise<void> {
  const key = `${reasonixHome}\n${skill}\n${session}`;
  if (written.has(key)) return;
  written.add(key);
  await mkdir(reasonixHome, { recursive: true, mode: 0o700 });
  const line = JSON.stringify({ at: new Date().toISOString(), session, skill });
  // The leading line end keeps a torn line of a killed writer from swallowing this one.
  await appendFile(fileOf(reasonixHome), `\n${line}\n`, { mode: 0o600 });
}

/** How many sessions have used each skill. Lines that are torn or not ours are passed over. */
export async function readUsage(reasonixHome: string): Promise<Map<string, number>> {
  const text = await readFile(fileOf(reasonixHome), 'utf8').catch(() => '');
  const seen = new Set<string>();
  const counts = new Map<string, number>();
  for (const line of text.split('\n')) {
    const entry = parseLine(line);
    const key = `${entry?.skill}\n${entry?.session}`;
    if (!entry || seen.has(key)) continue;
    seen.add(key);
    counts.set(entry.skill, (counts.get(entry.skill) ?? 0) + 1);
  }
  return counts;
}

function parseLine(line: string): { skill: string; session: string } | undefined {
  if (line === '') return undefined;
  try {
    const { skill, session } = JSON.parse(line) as Record<string, unknown>;
    return typeof skill === 'string' && typeof session === 'string' ? { skill, session } : undefined;
  } catch {
    return undefined;
  }
}
