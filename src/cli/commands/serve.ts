import { readFile } from 'node:fs/promises';
import { maskAddresses } from '../../config/mask.ts';
import { packageRoot } from '../../core/prompts.ts';
import { openRuntime } from '../../runtime/open-runtime.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Served } from '../../server/serve.ts';
import type { FlagValues, Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';
import { note, print } from '../output.ts';
import type { serveFlags } from '../serve/flags.ts';
import { views } from '../serve/views.ts';
import { noteProblem } from '../session/open-store.ts';
import { loadOptions, shortPath } from '../settings.ts';
import { Ending } from '../worker/ending.ts';

/** How long cancelled turns may take to write down their ends, in milliseconds. */
const PATIENCE = 8_000;

export const serve: Handler<typeof serveFlags> = async ({ flags }) => {
  const load = loadOptions(flags);
  const ending = new Ending(() => note('leaves at once'));
  try {
    const runtime = await openRuntime({
      ...load,
      model: flags.model,
      allow: flags.allow,
      onProblem: noteProblem,
    });
    try {
      const served = await start(runtime, flags);
      const { url } = runtime.config.engine;
      const how = url === undefined ? 'turns run in this process' : `turns run by workers of ${maskAddresses(url)}`;
      note(`serves ${shortPath(load.cwd)}; ${how}. Ctrl-C ends it`);
      print(`${served.address}/?token=${served.token}`);
      await ending.asked();
      note(endLine(String(ending.signal.reason), served));
      await served.close(PATIENCE);
    } finally {
      await runtime.close();
    }
  } finally {
    ending.close();
  }
  return EXIT.done;
};

async function start(runtime: Runtime, flags: FlagValues<typeof serveFlags>): Promise<Served> {
  const { serve: serveHttp } = await import('../../server/serve.ts');
  const { version } = JSON.parse(await readFile(`${packageRoot}/package.json`, 'utf8')) as { version: string };
  const { host, port, token_env: variable } = runtime.config.serve;
  return serveHttp({
    runtime,
    views,
    host: flags.host ?? host,
    port: flags.port ?? port,
    token: flags.token ?? (process.env[variable]?.trim() || undefined),
    version,
    onProblem: noteProblem,
  });
}

function endLine(signal: string, { running, areElsewhere }: Served): string {
  if (running === 0) return `${signal}: ends`;
  return areElsewhere
    ? `${signal}: ends; ${plural(running, 'turn goes', 'turns go')} on, run by workers`
    : `${signal}: cancels ${plural(running, 'turn')} and ends`;
}
