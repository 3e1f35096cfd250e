import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite.ts';
import { spawnTs, type TsChild } from '../helpers/spawn-ts.ts';
import { type Accounts, accountsOf, violations } from './check.ts';
import { type Life, readLogs } from './lives.ts';
import { makePlace, placeOf } from './scenario.ts';

const PROGRAM = new URL('./program.ts', import.meta.url);

/** How a process of the scenario ended: `done`, or the code of the error that stopped it. */
export interface Ending {
  ended?: string;
  points?: number;
  stoppedAt?: string;
}

/** One run of the scenario in a folder of its own, by one process after the other. */
export class Trial {
  readonly lives: Life[] = [];
  #started = 0;
  readonly folder: string;
  readonly store: SqliteStore;

  private constructor(folder: string, store: SqliteStore) {
    this.folder = folder;
    this.store = store;
  }

  /** `number` is below 1,000: names of one length, since the folder's is part of what a model is sent. */
  static async open(root: string, number: number): Promise<Trial> {
    const folder = join(root, String(number).padStart(3, '0'));
    makePlace(folder);
    return new Trial(folder, await openSqliteStore({ home: placeOf(folder).home }));
  }

  /** The scenario without a death, in a folder under `root`: how many points it has, and its accounts. */
  static async undisturbed(root: string): Promise<{ points: number; expected: Accounts }> {
    const trial = await Trial.open(root, 999);
    const { points, after } = await trial.live('');
    await trial.store.close();
    return { points, expected: accountsOf(after) };
  }

  async start(point: number | '', signal = 'SIGKILL'): Promise<{ child: TsChild; ended: () => Promise<Life> }> {
    const before = await readLogs(this.store);
    const asked = join(this.folder, `asked-${this.#started++}`);
    const child = await spawnTs(PROGRAM, { args: [this.folder, asked, String(point), signal] });
    const ended = async (): Promise<Life> => {
      const exit = await child.exited;
      const said = exit.stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Ending);
      const diedAt = exit.signal ? said.at(-1)?.stoppedAt : undefined;
      if (exit.signal === null && said.at(-1)?.ended !== 'done') throw new Error(`${exit.stdout}${exit.stderr}`);
      const life: Life = {
        before,
        after: await readLogs(this.store),
        asked: countLines(asked),
        diedAt,
        points: said.at(-1)?.points ?? 0,
      };
      this.lives.push(life);
      return life;
    };
    return { child, ended };
  }

  async live(point: number | ''): Promise<Life> {
    return (await this.start(point)).ended();
  }

  violations(expected: Accounts): Promise<string[]> {
    const { written } = placeOf(this.folder);
    return violations({ store: this.store, lives: this.lives, written, expected });
  }
}

function countLines(file: string): Map<string, number> {
  const counts = new Map<string, number>();
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // Killed before its first model call.
  }
  for (const line of text.split('\n').filter(Boolean)) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}
