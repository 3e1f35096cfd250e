/** A server that adds or drops a slash needs one. */
const MOST_REDIRECTS = 3;

/**
 * A `fetch` that asks nobody but the server it is given: of the headers with which keys are sent, the
 * platform's own takes only some away before it follows a redirect to another one.
 * @param refuse what a redirect is answered with, or throws, that is not followed; `to` is where it led.
 */
export async function ownOriginFetch(
  input: string | URL | Request,
  init?: RequestInit,
  refuse: (status: number, to: URL | undefined) => Response = refused,
): Promise<Response> {
  let at = input;
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(at, { ...init, redirect: 'manual' });
    const { status } = response;
    const location = status >= 300 && status < 400 ? response.headers.get('location') : null;
    if (location === null) return response;
    await response.body?.cancel();
    const from = new URL(at instanceof Request ? at.url : String(at));
    const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
    // others would have it asked by GET, without the request
    const isSafe = to?.origin === from.origin && (status === 307 || status === 308);
    if (!isSafe || redirects === MOST_REDIRECTS) return refuse(status, to);
    at = to;
  }
}

/** Shaped like an error of the server's, which keeps its status. */
function refused(status: number, to: URL | undefined): Response {
  const message = `it redirects to ${to?.origin ?? 'an address that is none'}, which is not followed`;
  return Response.json({ error: { type: 'redirect', message } }, { status });
}
