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

/** Domains at which nobody but a vendor of models answers. */
const VENDORS =
  /(^|\.)(?:anthropic\.com|deepseek\.com|groq\.com|mistral\.ai|moonshot\.(?:ai|cn)|openai\.com|openrouter\.ai)$/;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Of a host as a URL has it, in small letters. */
export const isLoopbackName = (hostname: string): boolean => LOOPBACK.test(hostname);

/** Whether an address is that of a vendor of models, over TLS, or of this machine. */
export function isVendorOrLocal(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return isLoopbackName(hostname) || (protocol === 'https:' && VENDORS.test(hostname));
}
