import type { LoadedConfig } from '../config/cascade.ts';
import { ReasonixError } from '../core/errors.ts';
import type { Engine } from '../engines/engine.ts';
import type { RuntimeOptions } from './options.ts';

/** The engine that runs turns in place of this process; connected to with the first use. */
export interface EngineAccess {
  get(): Promise<Engine>;
  close(): Promise<void>;
}

/**
 * The engine that was handed in, else the one that the configuration names; absent where turns run here.
 * @throws ReasonixError `config` for an engine whose sessions no other process could read.
 */
export function engineAccess(
  { config }: Pick<LoadedConfig, 'config'>,
  { engine }: Pick<RuntimeOptions, 'engine'>,
  onProblem: (text: string) => void,
): EngineAccess | undefined {
  if (engine) return { get: async () => engine, close: async () => {} };
  const { url, prefix, lease, max_running: maxRunning } = config.engine;
  if (url === undefined) return undefined;
  if (config.store.url === undefined) {
    throw new ReasonixError(
      'config',
      'engine.url is set, but the sessions are kept where no other machine reads them',
      {
        hint: 'set store.url, too: postgres://user@host/database',
      },
    );
  }
  let opened: Promise<Engine> | undefined;
  const open = async (): Promise<Engine> => {
    const { bullmqEngine } = await import('../engines/bullmq.ts');
    return bullmqEngine({ url, prefix, lockDuration: lease, stalledInterval: lease / 2, maxRunning, onProblem });
  };
  return {
    get: () => {
      opened ??= open();
      return opened;
    },
    close: async () => (await opened)?.close(),
  };
}
