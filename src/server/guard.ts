import { createHash, timingSafeEqual } from 'node:crypto';
import { ReasonixError } from '../core/errors.ts';
import { isLoopbackName } from '../models/hosts.ts';
import { HttpProblem } from './problem.ts';

/** The least a token may have, in characters. */
const SHORTEST = 16;

/** Addresses that only this machine reaches. `host` as in a URL, or without brackets. */
export const isLoopback = (host: string): boolean => host === '::1' || isLoopbackName(host.toLowerCase());

/** The secret that every request brings: in a header, in the address, or as the cookie that pages get for it. */
export class Token {
  readonly value: string;
  /** Servers on other ports of one host share its cookies, so that each has a name of its own. */
  readonly cookie: string;
  readonly #digest: Buffer;

  /** @throws ReasonixError `usage` for one that could be guessed, or stands in no address. */
  constructor(value: string) {
    if (!/^[\w.~-]+$/.test(value) || value.length < SHORTEST) {
      throw new ReasonixError('usage', `the token is no word of at least ${SHORTEST} letters, digits and . _ ~ -`, {
        hint: 'make one: openssl rand -hex 24',
      });
    }
    this.value = value;
    this.#digest = digestOf(value);
    this.cookie = `reasonix_${this.#digest.toString('hex').slice(0, 12)}`;
  }

  /** Takes as long for a wrong one as for the right one. */
  matches(given: string | undefined): boolean {
    return given !== undefined && timingSafeEqual(digestOf(given), this.#digest);
  }

  /** Whether a request brings it, in the address aside. */
  isIn(headers: Headers): boolean {
    const [, bearer] = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '') ?? [];
    if (bearer !== undefined) return this.matches(bearer);
    const cookies = (headers.get('cookie') ?? '').split(/; */).map((pair) => pair.split('='));
    return this.matches(cookies.find(([name]) => name === this.cookie)?.[1]);
  }
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Refuses what a page of another site had a browser send: a name that was made to lead here (DNS
 * rebinding), or an origin that is not this server. `host` is the address that the server listens on.
 * @throws HttpProblem 403.
 */
export function checkOrigin(headers: Headers, host: string): void {
  const named = hostOf(`http://${headers.get('host') ?? ''}`);
  if (named === undefined || (isLoopback(host) && !isLoopback(named.hostname) && named.hostname !== host)) {
    throw new HttpProblem(
      403,
      'wrong_host',
      'this server does not go by that name',
      `ask for it as localhost, 127.0.0.1 or ${host}`,
    );
  }
  const origin = headers.get('origin');
  if (origin === null || hostOf(origin)?.host === named.host) return;
  throw new HttpProblem(403, 'wrong_origin', 'pages of other sites may not ask this server');
}

function hostOf(address: string): URL | undefined {
  return URL.canParse(address) && new URL(address).host !== '' ? new URL(address) : undefined;
}
