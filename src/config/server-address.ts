import { isLoopbackName } from '../models/hosts.ts';

/**
 * Whether the server of an address is on this machine: by loopback, by a socket, or by what the
 * user's own environment says where the address names no host. Drivers take hosts from parameters, too.
 */
export function isOnThisMachine(address: string): boolean {
  if (address.startsWith('/')) return true;
  if (!URL.canParse(address)) return false;
  const { hostname, searchParams } = new URL(address);
  const hosts = [decoded(hostname), ...['host', 'hostaddr'].flatMap((name) => searchParams.getAll(name))];
  return hosts.every((host) => host === '' || host.startsWith('/') || isLoopbackName(host.toLowerCase()));
}

/** Then the driver sends none of the environment's. */
export function hasOwnPassword(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { password, searchParams } = new URL(address);
  return password !== '' || Boolean(searchParams.get('password'));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
