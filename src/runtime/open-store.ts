import type { LoadedConfig } from '../config/cascade.ts';
import { checkStore } from '../config/trust.ts';
import type { FollowableStore } from '../store/contract.ts';
import { openSqliteStore } from '../store/sqlite.ts';

/**
 * Opens the store that the configuration names: Postgres with `store.url`, else the user's own file.
 * @throws ReasonixError `store` or `config` as the stores do; `config` for an address that a
 * project's file chose, would get a password of the environment, and nobody allowed.
 */
export async function openConfiguredStore(
  loaded: LoadedConfig,
  onProblem: (text: string) => void,
  trustAll = false,
): Promise<FollowableStore> {
  const { config, folders } = loaded;
  const { url, path, schema, listen_url: listenUrl, pool_size: poolSize } = config.store;
  if (url === undefined) return openSqliteStore({ home: folders.reasonixHome, path, onProblem });
  checkStore(loaded, trustAll);
  const { openPostgresStore } = await import('../store/postgres.ts');
  return openPostgresStore({ url, schema, listenUrl, poolSize, onProblem });
}
