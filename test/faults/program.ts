/**
 * A process of the scenario: goes on with whatever was done of the task in the folder it is given,
 * and prints how it ended. At its point it kills itself, or stops until it is woken.
 */
import { appendFileSync } from 'node:fs';
import { ReasonixError } from '../../src/core/errors.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { goOn, readLogs } from './lives.ts';
import { Machine } from './machine.ts';
import { placeOf } from './scenario.ts';
import { withShortLeases } from './short-leases.ts';

const [folder = '', askedFile = '', point = '', signal = 'SIGKILL'] = process.argv.slice(2);

const place = placeOf(folder);
const store = withShortLeases(await openSqliteStore({ home: place.home }));
const machine = new Machine({
  store,
  dieAt: point === '' ? undefined : Number(point),
  die: () => {
    console.log(JSON.stringify({ stoppedAt: machine.points.at(-1) }));
    process.kill(process.pid, signal);
  },
  staysAlive: signal === 'SIGSTOP',
  asked: (session) => appendFileSync(askedFile, `${session}\n`),
});
try {
  await goOn(place, machine, await readLogs(store));
  console.log(JSON.stringify({ ended: 'done', points: machine.points.length }));
} catch (error) {
  const code = ReasonixError.isInstance(error) ? error.code : String(error);
  console.log(JSON.stringify({ ended: code, points: machine.points.length }));
} finally {
  await store.close();
}
