import type { Handler } from '../command.ts';
import type { readFlags } from '../command-flags.ts';
import { type Check, checkAll } from '../doctor/checks.ts';
import { EXIT } from '../failure.ts';
import { note, print, printJson } from '../output.ts';
import { columnsOf, type Paint, padWidth, paintFor, printable, wrap } from '../terminal.ts';

export const doctor: Handler<typeof readFlags> = async ({ flags }) => {
  const checks = await checkAll(flags);
  const broken = checks.filter(({ state }) => state === 'broken').length;
  if (flags.json) printJson({ ok: broken === 0, checks });
  else {
    const paint = paintFor(process.stdout);
    for (const check of checks) for (const line of linesOf(check, paint)) print(line);
    note(broken === 0 ? 'ready' : `${broken} of ${checks.length} checks found something broken`);
  }
  return broken === 0 ? EXIT.done : EXIT.failed;
};

const SIGNS = { ok: ['green', '✓'], note: ['yellow', '!'], broken: ['red', '✗'] } as const;

function linesOf({ name, state, found, hint }: Check, paint: Paint): string[] {
  const [style, sign] = SIGNS[state];
  const room = Math.max(20, columnsOf(process.stdout, 100) - 16);
  const [first = '', ...more] = printable(found)
    .split('\n')
    .flatMap((line) => wrap(line, room));
  const indent = ' '.repeat(16);
  return [
    `${paint(style, sign)} ${padWidth(name, 13)} ${first}`,
    ...more.map((line) => indent + line),
    ...(hint === undefined ? [] : wrap(printable(hint), room).map((line) => indent + paint('dim', line))),
  ];
}
