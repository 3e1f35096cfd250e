import type { ConfigValue, KeySpec } from './key-spec.ts';

const MASK = '***';
const SECRET_NAME =
  /(?:^|[_.-])(?:api[_-]?key|access[_-]?key|private[_-]?key|key|token|secret|password|passwd|credentials?|authorization|auth|cookie|dsn)$/i;

/** Whether what stands under this name must not be shown: `OPENAI_API_KEY`, `X-Auth-Token`. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name);

/** A text with the secrets of any address in it hidden: user and password, and parameters such as `key`. */
export function maskAddresses(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#]*@/gi, `$1${MASK}@`)
    .replace(/([?&;])([^=&;#\s]+)=([^&;#\s]*)/g, (whole, separator: string, name: string) =>
      isSecretName(name) ? `${separator}${name}=${MASK}` : whole,
    );
}

/** A value of the configuration as it may be shown. */
export function maskValue(spec: KeySpec | undefined, value: ConfigValue): ConfigValue {
  if (spec?.secret) return MASK;
  if (typeof value === 'string') return maskAddresses(value);
  return Array.isArray(value) ? value.map(maskAddresses) : value;
}
