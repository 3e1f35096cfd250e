import type { LoadedConfig } from '../config/cascade.ts';
import { ReasonixError } from '../core/errors.ts';
import type { Engine } from '../engines/engine.ts';
import { processRateLimit, type RateLimit } from '../models/rate-limit.ts';
import type { SessionStore } from '../store/contract.ts';
import { MemoryLedger, type TreeLedger } from '../subagents/tree-ledger.ts';
import type { RuntimeOptions } from './options.ts';

/** The engine that runs turns in place of this process, and what all of its processes share. Connected to with the first use. */
export interface EngineAccess {
  get(): Promise<Engine>;
  /** What the sessions of a tree in `store` have spent. */
  ledger(store: SessionStore): Promise<TreeLedger>;
  readonly rateLimit: RateLimit;
  close(): Promise<void>;
}

/** Whoever uses one engine in one process counts together. */
const ledgers = new WeakMap<Engine, MemoryLedger>();

/**
 * The engine that was handed in, else the one that the configuration names; absent where turns run here.
 * @throws ReasonixError `config` for an engine whose sessions no other process could read.
 */
export function engineAccess(
  loaded: Pick<LoadedConfig, 'config'>,
  { engine }: Pick<RuntimeOptions, 'engine'>,
  onProblem: (text: string) => void,
): EngineAccess | undefined {
  if (engine) return handedIn(engine);
  const { config } = loaded;
  if (config.engine.url === undefined) return undefined;
  if (config.store.url === undefined) {
    throw new ReasonixError(
      'config',
      'engine.url is set, but the sessions are kept where no other machine reads them',
      { hint: 'set store.url, too: postgres://user@host/database' },
    );
  }
  return configured({ ...config.engine, url: config.engine.url }, onProblem);
}

function handedIn(engine: Engine): EngineAccess {
  const ledger = ledgers.get(engine) ?? new MemoryLedger();
  ledgers.set(engine, ledger);
  return { get: async () => engine, ledger: async () => ledger, rateLimit: processRateLimit, close: async () => {} };
}

function configured(
  { url, prefix, lease, max_running: maxRunning }: LoadedConfig['config']['engine'] & { url: string },
  onProblem: (text: string) => void,
): EngineAccess {
  const engine = once(async () => {
    const { bullmqEngine } = await import('../engines/bullmq.ts');
    return bullmqEngine({ url, prefix, lockDuration: lease, stalledInterval: lease / 2, maxRunning, onProblem });
  });
  const redis = once(async () => (await import('../engines/redis-scripts.ts')).openRedisScripts(url));
  const limit = once(async () => {
    const { redisRateLimit } = await import('../engines/redis-rate-limit.ts');
    return redisRateLimit({ redis: await redis.get(), prefix, onProblem });
  });
  let ledger: Promise<TreeLedger> | undefined;
  const openLedger = async (store: SessionStore): Promise<TreeLedger> => {
    const { redisLedger } = await import('../engines/redis-ledger.ts');
    return redisLedger({ redis: await redis.get(), store, prefix, onProblem });
  };
  return {
    get: () => engine.get(),
    ledger: (store) => {
      ledger ??= openLedger(store);
      return ledger;
    },
    rateLimit: {
      acquire: async (provider, perMinute, signal, root) => {
        if (perMinute > 0) await (await limit.get()).acquire(provider, perMinute, signal, root);
      },
    },
    close: async () => {
      await (await engine.opened)?.close();
      await (await redis.opened)?.close();
    },
  };
}

/** Opened when it is asked for, and then once. */
function once<T>(open: () => Promise<T>): { get(): Promise<T>; readonly opened: Promise<T> | undefined } {
  let opened: Promise<T> | undefined;
  return {
    get: () => {
      opened ??= open();
      return opened;
    },
    get opened() {
      return opened;
    },
  };
}
