import { escapeHtml } from '../../core/html.ts';
import { type ExportedSession, factsOf } from './exported.ts';
import { type Passage, transcriptOf } from './transcript.ts';

/** What a page has beside the sessions. */
interface Surroundings {
  /** HTML before and after them. */
  before?: string | undefined;
  after?: string | undefined;
  /** CSS beside that of the sessions. */
  style?: string | undefined;
  /** Address of a session that is referred to. Default: its place on the page. */
  linkTo?: ((reference: string) => string) | undefined;
}

type LinkTo = (reference: string) => string;

/** One page, of itself without scripts and without anything from elsewhere. */
export function exportHtml(sessions: readonly ExportedSession[], surroundings: Surroundings = {}): string {
  const { before = '', after = '', style = '', linkTo = (reference) => `#${reference}` } = surroundings;
  const [first] = sessions;
  const title = escapeHtml(first?.summary.title || first?.summary.session || 'Session');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}${style}</style>
</head>
<body>
${before}${sessions.map((session) => sectionOf(session, linkTo)).join('\n')}${after}
</body>
</html>
`;
}

function sectionOf(session: ExportedSession, linkTo: LinkTo): string {
  const { summary, events } = session;
  const facts = factsOf(session).map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`);
  return `<article id="${escapeHtml(summary.session)}">
<h1>${escapeHtml(summary.title || summary.session)}</h1>
<dl>${facts.join('')}</dl>
${transcriptOf(events)
  .map((passage) => passageHtml(passage, linkTo))
  .join('\n')}
</article>`;
}

function passageHtml({ kind, title, text, at }: Passage, linkTo: LinkTo): string {
  const head = `<bdi>${withLinks(escapeHtml(title), linkTo)}</bdi> <time datetime="${escapeHtml(at)}">${escapeHtml(at)}</time>`;
  if (text === '') return `<p class="${kind}">${head}</p>`;
  const body = `<pre>${escapeHtml(text)}</pre>`;
  if (kind === 'user' || kind === 'assistant') return `<section class="${kind}"><h2>${head}</h2>${body}</section>`;
  return `<details class="${kind}"${kind === 'error' ? ' open' : ''}><summary>${head}</summary>${body}</details>`;
}

/** References lead to their session. */
const withLinks = (html: string, linkTo: LinkTo): string =>
  html.replace(/\bsa_[0-9a-z]{26}\b/g, (reference) => `<a href="${escapeHtml(linkTo(reference))}">${reference}</a>`);

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
article + article { border-top: 2px solid var(--line); margin-top: 3rem; }
h1 { font-size: 1.4rem; } h2 { font-size: .9rem; margin: 0 0 .4rem; } time { opacity: .7; font-weight: normal; font-size: .8rem; white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .85rem; } dd { margin: 0; }
section, details { border-left: 3px solid var(--line); padding: .4rem .9rem; margin: 1rem 0; }
section.user { border-color: #3b82f6; } section.assistant { border-color: #10b981; } .error { border-color: #ef4444; }
summary { cursor: pointer; font-size: .85rem; } p.note { opacity: .8; font-size: .85rem; }
pre { white-space: pre-wrap; unicode-bidi: plaintext; font: inherit; margin: 0; } details pre { font: .8rem/1.4 ui-monospace, monospace; }
`;
