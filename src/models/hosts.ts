import type { ProviderSettings } from './contract.ts';

/** Where a kind's server is when the configuration names none. */
const OWN_URL: Readonly<Record<ProviderSettings['kind'], string>> = {
  anthropic: 'https://api.anthropic.com',
  openai: 'https://api.openai.com',
  responses: 'https://api.openai.com',
  scripted: '',
};

/** The host of a provider's server; empty where there is none. */
export function hostOf({ kind, base_url: url = OWN_URL[kind] }: Pick<ProviderSettings, 'kind' | 'base_url'>): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}
