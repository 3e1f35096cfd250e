import type { LoadedConfig } from '../config/cascade.ts';
import type { FollowableStore } from '../store/contract.ts';
import { openSqliteStore } from '../store/sqlite.ts';

/**
 * Opens the store that the configuration names: Postgres with `store.url`, else the user's own file.
 * @throws ReasonixError `store` or `config` as the stores do.
 */
export async function openConfiguredStore(
  { config, folders }: Pick<LoadedConfig, 'config' | 'folders'>,
  onProblem: (text: string) => void,
): Promise<FollowableStore> {
  const { url, path, schema, listen_url: listenUrl, pool_size: poolSize } = config.store;
  if (url === undefined) return openSqliteStore({ home: folders.reasonixHome, path, onProblem });
  const { openPostgresStore } = await import('../store/postgres.ts');
  return openPostgresStore({ url, schema, listenUrl, poolSize, onProblem });
}
