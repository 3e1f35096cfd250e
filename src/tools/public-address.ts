import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { problem } from './tool-problem.ts';

/** Everything that is not the public internet, tunnels that could lead back included. */
const SPECIAL: readonly [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['::', 96],
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

type Family = 'ipv4' | 'ipv6';
const lists = new Map<Family, BlockList>();

/** Whether an address is on the public internet: not loopback, private, link-local, multicast or reserved. */
export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  const version = isIP(bare);
  if (version === 0) return false;
  const family = version === 6 ? 'ipv6' : 'ipv4';
  return !specialOf(family).check(bare, family);
}

/** One list a family: in a common one the mapped addresses of IPv6 would cover all of IPv4. */
function specialOf(family: Family): BlockList {
  let list = lists.get(family);
  if (!list) {
    list = new BlockList();
    for (const [net, prefix] of SPECIAL) {
      if (net.includes(':') === (family === 'ipv6')) list.addSubnet(net, prefix, family);
    }
    lists.set(family, list);
  }
  return list;
}

/** Finds the addresses of a host name. A replacement for tests and for networks with a resolver of their own. */
export type Resolver = (host: string) => Promise<LookupAddress[]>;

const systemResolver: Resolver = (host) => lookup(host, { all: true, verbatim: true });

/**
 * The address to connect to for a URL's host, looked up once: the connection goes to this address
 * and asks no name server again, so that the answer that was checked is the one that is used.
 * @throws ToolProblem when the host is unknown, or any of its addresses is not public and `allowed` does not name it.
 */
export async function pinnedAddress(
  url: URL,
  allowed: boolean | readonly string[],
  resolve: Resolver = systemResolver,
): Promise<LookupAddress> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(host);
  let addresses: LookupAddress[];
  try {
    addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
  } catch (error) {
    throw problem('no-host', { host }, { cause: error });
  }
  const first = addresses[0];
  if (!first) throw problem('no-host', { host });
  const free = allowed === true || (allowed !== false && (allowed.includes(host) || allowed.includes(url.host)));
  if (!free && !addresses.every(({ address }) => isPublicAddress(address))) {
    throw problem('not-public', { host });
  }
  return first;
}
