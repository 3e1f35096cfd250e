import { type ExportedSession, factsOf } from './exported.ts';
import { type Passage, transcriptOf } from './transcript.ts';

/** One page without scripts and without anything from elsewhere. */
export function exportHtml(sessions: readonly ExportedSession[]): string {
  const [first] = sessions;
  const title = escapeHtml(first?.summary.title || first?.summary.session || 'Session');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
${sessions.map(sectionOf).join('\n')}
</body>
</html>
`;
}

function sectionOf(session: ExportedSession): string {
  const { summary, events } = session;
  const facts = factsOf(session).map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`);
  return `<article id="${escapeHtml(summary.session)}">
<h1>${escapeHtml(summary.title || summary.session)}</h1>
<dl>${facts.join('')}</dl>
${transcriptOf(events).map(passageHtml).join('\n')}
</article>`;
}

function passageHtml({ kind, title, text, at }: Passage): string {
  const head = `${withLinks(escapeHtml(title))} <time datetime="${escapeHtml(at)}">${escapeHtml(at)}</time>`;
  if (text === '') return `<p class="${kind}">${head}</p>`;
  const body = `<pre>${escapeHtml(text)}</pre>`;
  if (kind === 'user' || kind === 'assistant') return `<section class="${kind}"><h2>${head}</h2>${body}</section>`;
  return `<details class="${kind}"${kind === 'error' ? ' open' : ''}><summary>${head}</summary>${body}</details>`;
}

/** References lead to their session, which is on the page when the whole tree is. */
const withLinks = (html: string): string =>
  html.replace(/\bsa_[0-9a-z]{26}\b/g, (reference) => `<a href="#${reference}">${reference}</a>`);

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => ESCAPES[sign]!);

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
article + article { border-top: 2px solid var(--line); margin-top: 3rem; }
h1 { font-size: 1.4rem; } h2 { font-size: .9rem; margin: 0 0 .4rem; } time { opacity: .5; font-weight: normal; font-size: .8rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .85rem; } dd { margin: 0; overflow-wrap: anywhere; }
section, details { border-left: 3px solid var(--line); padding: .4rem .9rem; margin: 1rem 0; }
section.user { border-color: #3b82f6; } section.assistant { border-color: #10b981; } .error { border-color: #ef4444; }
summary { cursor: pointer; font-size: .85rem; } p.note { opacity: .6; font-size: .85rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; margin: 0; } details pre { font: .8rem/1.4 ui-monospace, monospace; }
`;
