import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { maskAddresses } from '../../config/mask.ts';
import { ReasonixError } from '../../core/errors.ts';
import { packageRoot } from '../../core/prompts.ts';
import { openRuntime } from '../../runtime/open-runtime.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Work, WorkWatch } from '../../runtime/worker.ts';
import type { FlagValues, Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import { plural, shortTime } from '../format.ts';
import { loadOptions, shortPath } from '../settings.ts';
import { Draining } from '../worker/draining.ts';
import { Ending } from '../worker/ending.ts';
import type { workerFlags } from '../worker/flags.ts';
import { type Health, serveHealth } from '../worker/health.ts';
import { Journal } from '../worker/journal.ts';
import { WorkerMetrics } from '../worker/metrics.ts';
import { Probe } from '../worker/probe.ts';
import { keepHeapSmall } from '../worker/small-heap.ts';

type Given = FlagValues<typeof workerFlags>;

export const worker: Handler<typeof workerFlags> = async ({ flags }) => {
  keepHeapSmall();
  const { loadConfig } = await import('../../config/cascade.ts');
  const load = { ...loadOptions(flags), overrides: [...flags.env, ...(await overridesOf(flags))] };
  const { config } = await loadConfig(load);
  checkServices(config);
  const name = flags.name ?? `${hostname()}-${process.pid}`;
  const journal = new Journal(name, { tellsRuns: !flags.quiet && process.stderr.isTTY !== true });
  const metrics = new WorkerMetrics({ name, version: await versionOf() });
  const onProblem = (text: string) => {
    metrics.problem();
    journal.problem(text);
  };
  const ending = new Ending(() => journal.say('ends at once: other workers go on with its sessions'));
  const runtime = await openRuntime({ ...load, onProblem });
  try {
    return await serve(runtime, { once: flags.once === true, journal, metrics, ending, onProblem });
  } finally {
    await runtime.close();
    ending.close();
  }
};

interface Parts {
  once: boolean;
  journal: Journal;
  metrics: WorkerMetrics;
  ending: Ending;
  onProblem(text: string): void;
}

async function serve(runtime: Runtime, { once, journal, metrics, ending, onProblem }: Parts): Promise<number> {
  const { engine } = runtime.config;
  const draining = new Draining();
  const stop = runtime.observe((observation) => metrics.observe(observation));
  const work = await runtime.work({ watch: watchOf(runtime, { journal, metrics, draining }), onProblem });
  let health: Health | undefined;
  try {
    health = await openHealth(runtime.config, work, metrics, ending);
    journal.say(startLine(runtime.config, health));
    const stuck = once ? draining.done(work, ending.signal) : undefined;
    await (stuck ? Promise.race([stuck, ending.asked()]) : ending.asked());
    const reason: unknown = ending.signal.reason;
    if (ending.signal.aborted) {
      journal.say(`${String(reason)}: ends ${plural(work.running, 'step')}, at most ${shortTime(engine.grace)}`);
    }
    const code = await leave(work, engine.grace, journal);
    const failing = ending.signal.aborted ? [] : ((await stuck) ?? []);
    if (failing.length === 0) return code;
    journal.say(`${plural(failing.length, 'session')} cannot be run: ${named(failing)}`);
    return EXIT.failed;
  } finally {
    stop();
    await work.close(0);
    await health?.close();
  }
}

/** Ends the work; the process ends here when steps go on behind the grace. */
async function leave(work: Work, grace: number, journal: Journal): Promise<number> {
  await work.close(grace);
  if (work.running === 0) return EXIT.done;
  journal.say(`${plural(work.running, 'step')} did not end in time: other workers go on from the logs`);
  process.exit(EXIT.failed);
}

function watchOf(runtime: Runtime, parts: Pick<Parts, 'journal' | 'metrics'> & { draining: Draining }): WorkWatch {
  const { journal, metrics, draining } = parts;
  /** How the turns ended of sessions that run. */
  const statuses = new Map<string, string | undefined>();
  runtime.observe((observation) => {
    if (observation.kind !== 'event' || !statuses.has(observation.session)) return;
    if (observation.event.type === 'turn.ended') statuses.set(observation.session, observation.event.status);
  });
  return {
    began: (job) => {
      const since = performance.now();
      statuses.set(job.session, undefined);
      journal.took(job);
      return (end) => {
        const taken = performance.now() - since;
        metrics.ran(end, taken / 1000);
        draining.ran(job, end);
        journal.left(job, end, statuses.get(job.session), taken);
        statuses.delete(job.session);
      };
    },
  };
}

function openHealth(config: Config, work: Work, metrics: WorkerMetrics, ending: Ending): Promise<Health> | undefined {
  const { health_port: port, health_host: host, concurrency } = config.engine;
  if (port === undefined) return undefined;
  const store = new Probe(() => work.check('store'));
  const engine = new Probe(() => work.counts());
  return serveHealth({
    host,
    port,
    unready: async () => {
      if (ending.signal.aborted) return 'it is about to end';
      const [ofStore, ofEngine] = await Promise.all([store.look(), engine.look()]);
      const why = [
        'why' in ofStore && `Postgres: ${ofStore.why}`,
        'why' in ofEngine && `Redis: ${ofEngine.why}`,
      ].filter((text) => text !== false);
      return why.length > 0 ? why.join('; ') : undefined;
    },
    remark: () => {
      const { unfit } = work;
      return unfit.length === 0 ? undefined : `cannot run ${plural(unfit.length, 'session')}: ${named(unfit)}`;
    },
    metrics: async () => {
      const [ofStore, ofEngine] = await Promise.all([store.look(), engine.look()]);
      const isUp = { store: 'answer' in ofStore, engine: 'answer' in ofEngine };
      const jobs = 'answer' in ofEngine ? ofEngine.answer : undefined;
      return metrics.text({ running: work.running, concurrency, unfit: work.unfit.length, jobs, isUp });
    },
  });
}

const named = (sessions: readonly string[]): string =>
  sessions.slice(0, 5).join(', ') + (sessions.length > 5 ? ', …' : '');

function startLine({ engine, store }: Config, health: Health | undefined): string {
  const facts = [
    `serves ${maskAddresses(engine.url ?? '')} with ${maskAddresses(store.url ?? '')}`,
    `${plural(engine.concurrency, 'session')} at once`,
    engine.tags.length > 0 ? `tags ${engine.tags.join(', ')}` : '',
    engine.workspace === undefined ? '' : `workspace ${shortPath(engine.workspace)}`,
    health === undefined ? '' : `health on ${health.address}`,
  ];
  return facts.filter((fact) => fact !== '').join(' · ');
}

/** What the flags set of the configuration, so that everything that reads it goes by them. */
async function overridesOf(flags: Given): Promise<string[]> {
  const { concurrency, tag, workspace, grace } = flags;
  const set: string[] = [];
  if (concurrency !== undefined) set.push(`engine.concurrency=${concurrency}`);
  if (tag.length > 0) set.push(`engine.tags=${JSON.stringify(tag)}`);
  if (workspace !== undefined) set.push(`engine.workspace=${await folderAt(resolve(workspace))}`);
  if (flags['health-port'] !== undefined) set.push(`engine.health_port=${flags['health-port']}`);
  if (flags['health-host'] !== undefined) set.push(`engine.health_host=${flags['health-host']}`);
  if (grace !== undefined) set.push(`engine.grace=${grace}ms`);
  return set;
}

async function folderAt(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return path;
  throw new ReasonixError('config', `the workspace ${path} is no folder`, {
    hint: 'make it, or name another one with --workspace',
  });
}

/** @throws ReasonixError `config` when there is nothing to take sessions from, or nowhere that all workers keep them. */
function checkServices({ engine, store }: Config): void {
  if (engine.url === undefined) {
    throw new ReasonixError('config', 'a worker takes sessions from Redis, and engine.url is not set', {
      hint: 'set engine.url = "redis://host:6379" and store.url = "postgres://user@host/database", for whoever starts runs, too',
    });
  }
  if (store.url === undefined) {
    throw new ReasonixError('config', 'the sessions of many machines are kept in Postgres, and store.url is not set', {
      hint: 'set store.url = "postgres://user@host/database"',
    });
  }
}

async function versionOf(): Promise<string> {
  const { version } = JSON.parse(await readFile(`${packageRoot}/package.json`, 'utf8')) as { version: string };
  return version;
}
