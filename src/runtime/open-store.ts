import type { LoadedConfig } from '../config/cascade.ts';
import { checkServices } from '../config/trust.ts';
import type { FollowableStore } from '../store/contract.ts';
import { openSqliteStore } from '../store/sqlite.ts';

/**
 * Opens the store that the configuration names: Postgres with `store.url`, else the user's own file.
 * @throws ReasonixError `store` or `config` as the stores do; `config` for an address that a project's file chose and nobody allowed.
 */
export async function openConfiguredStore(
  loaded: LoadedConfig,
  onProblem: (text: string) => void,
  trustAll = false,
): Promise<FollowableStore> {
  const { config, folders } = loaded;
  const { url, path, schema, listen_url: listenUrl, pool_size: poolSize } = config.store;
  if (url === undefined) return openSqliteStore({ home: folders.reasonixHome, path, onProblem });
  checkServices(loaded, 'store', trustAll);
  const { openPostgresStore } = await import('../store/postgres.ts');
  return openPostgresStore({ url, schema, listenUrl, poolSize, onProblem });
}
