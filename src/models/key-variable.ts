import type { ProviderSettings } from './contract.ts';
import { dialectOf } from './dialects.ts';
import { hostOf } from './hosts.ts';

/** The variable that holds a provider's key; a server that nobody knows needs none unless one is named. */
export function keyVariableOf(settings: ProviderSettings): string | undefined {
  if (settings.api_key_env) return settings.api_key_env;
  if (settings.kind === 'scripted') return undefined;
  if (settings.kind === 'anthropic') {
    return /(^|\.)anthropic\.com$/.test(hostOf(settings)) ? 'ANTHROPIC_API_KEY' : undefined;
  }
  const name = settings.base_url === undefined ? 'openai' : '';
  return dialectOf({ name, baseUrl: settings.base_url }).keyVariable;
}
