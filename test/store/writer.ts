import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { ReasonixError } from '../../src/core/errors.ts';
import { newSessionId } from '../../src/core/ids.ts';
import { processOwner } from '../../src/store/owner.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { started, user } from './samples.ts';

/** A process that uses the store, for tests: `writer.ts <home> <what> [arguments]`. Every line it prints is JSON. */

const [home, what, ...args] = process.argv.slice(2);
const store = await openSqliteStore({ home: home ?? '' });
const print = (value: unknown) => writeSync(1, `${JSON.stringify(value)}\n`);
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

switch (what) {
  case 'many': {
    // Appends to its own sessions; prints each acknowledged event.
    const [sessions = 1, appends = 1] = args.map(Number);
    await Promise.all(
      Array.from({ length: sessions }, async () => {
        const session = newSessionId();
        const append = async (seq: number, text?: string) => {
          const events = text === undefined ? [started(session)] : [user(text), user(`${text} again`)];
          const stored = await store.append(session, seq, events);
          print({ session, seq: stored.at(-1)?.seq });
        };
        await append(0);
        for (let n = 0; n < appends; n++) await append(1 + 2 * n, `text ${n}`);
      }),
    );
    break;
  }
  case 'compete': {
    // Appends to a session that others append to as well.
    const [session = '', name, appends] = args;
    let seq = 0;
    for (let n = 0; n < Number(appends); ) {
      try {
        seq = (await store.append(session, seq, [user(`${name} ${n}`)])).at(-1)?.seq ?? 0;
        n++;
      } catch (error) {
        if (!ReasonixError.isInstance(error, 'session_busy') && seq !== 0) throw error;
        seq = (await store.read(session)).at(-1)?.seq ?? 0;
      }
    }
    print({ done: name });
    break;
  }
  case 'hold': {
    // Takes the lease, and appends with it whenever a line comes in.
    const [session = '', ttl] = args;
    const lease = await store.claim(session, processOwner(), Number(ttl));
    print(lease);
    for (let seq = 0; !(await input.next()).done; ) {
      const events = seq === 0 ? [started(session)] : [user('held')];
      try {
        seq = (await store.append(session, seq, events, lease)).at(-1)?.seq ?? 0;
        print({ seq });
      } catch (error) {
        print({ code: (error as ReasonixError).code, message: (error as ReasonixError).message });
      }
    }
    break;
  }
  default:
    throw new Error(`no such thing to do: ${what}`);
}
await store.close();
process.exit(0);
