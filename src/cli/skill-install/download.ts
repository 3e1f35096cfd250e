import { isCancellation, messageOf, ReasonixError } from '../../core/errors.ts';
import { LIMITS, sizeText } from '../../skills/install/limits.ts';
import type { Download } from '../../skills/install/open-source.ts';

/** Fetches archives as the web_fetch tool fetches pages: from public addresses only, each hop checked. */
export function downloader(allowPrivate: boolean): Download {
  return async (url, { maxBytes, signal }) => {
    const deadline = AbortSignal.timeout(LIMITS.fetchTime);
    const checkProtocol = (each: URL): void => {
      if (each.protocol === 'https:' || allowPrivate) return;
      throw new ReasonixError('skill_refused', `${each.href} is plain http, which anybody on the way can change`, {
        hint: 'use https://; --allow-private is for servers of your own',
      });
    };
    checkProtocol(url);
    const { httpGet } = await import('../../tools/http-get.ts');
    try {
      const page = await httpGet(url, {
        allowPrivate,
        maxBytes,
        signal: AbortSignal.any([signal, deadline]),
        onRedirect: checkProtocol,
      });
      if (page.status !== 200) throw refused(`${url.href} answers with status ${page.status}`, 'check the address');
      if (page.cut) throw refused(`${url.href} is larger than ${sizeText(maxBytes)}`, 'install from a repository');
      return page.body;
    } catch (error) {
      signal.throwIfAborted();
      if (ReasonixError.isInstance(error)) throw error;
      if (deadline.aborted && (isCancellation(error) || error === deadline.reason)) {
        throw refused(`${url.href} did not answer in full within ${LIMITS.fetchTime / 1_000} s`, 'try again');
      }
      throw refused(messageOf(error), 'check the address; --allow-private permits servers of your own');
    }
  };
}

const refused = (message: string, hint: string): ReasonixError => new ReasonixError('skill_refused', message, { hint });
