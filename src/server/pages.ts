import { escapeHtml } from '../core/html.ts';
import { findSession } from './find-session.ts';
import { HttpProblem } from './problem.ts';
import type { Parts } from './routes.ts';
import type { TreeView } from './views.ts';

/** Sessions on a page of the list. */
const ROWS = 50;

/** The newest sessions, or those behind a cursor. */
export async function listPage({ runtime, views }: Parts, cursor: string | undefined): Promise<string> {
  const { sessions, next } = await runtime.store.list({ kind: 'root' }, { by: 'updated', limit: ROWS, cursor });
  const rows = sessions.map((summary) => {
    const { session, title, updatedAt, model, cwd } = summary;
    const { status } = views.summary(summary);
    return `<tr><td><a href="${pathOf(session)}">${escapeHtml(title || session)}</a></td><td class="${escapeHtml(status)}">${escapeHtml(status)}</td><td>${escapeHtml(model)}</td><td>${escapeHtml(cwd)}</td><td><time datetime="${escapeHtml(updatedAt)}">${escapeHtml(updatedAt.slice(0, 16).replace('T', ' '))}</time></td></tr>`;
  });
  const table = `<table><thead><tr><th>Task</th><th>State</th><th>Model</th><th>Folder</th><th>Used (UTC)</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
  const older = next === undefined ? '' : `<p><a href="/?cursor=${encodeURIComponent(next)}">older</a></p>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sessions</title>
<style>${STYLE}</style>
</head>
<body>
${navigation(runtime.config.engine.url !== undefined)}<h1>Sessions</h1>
${sessions.length > 0 ? table : '<p>No sessions yet.</p>'}
${older}
</body>
</html>
`;
}

/** A session as it is exported, with its tree, and what keeps both as they are now. */
export async function sessionPage({ runtime, views }: Parts, id: string): Promise<string> {
  const { store } = runtime;
  const summary = await findSession(store, id).catch(() => {
    throw new HttpProblem(404, 'session_not_found', 'there is no such session');
  });
  const events = await store.read(id);
  const tree = await views.tree(store, summary);
  const up = summary.parent
    ? `<p>of <a href="${pathOf(summary.parent.session)}">${summary.parent.session}</a></p>`
    : '';
  const last = events.at(-1)?.seq ?? 0;
  return views.page(
    { summary, events },
    {
      before: `${navigation(runtime.config.engine.url !== undefined)}${up}<ul id="tree">${treeItem(tree)}</ul>\n`,
      after: `<script src="/follow.js" data-session="${escapeHtml(id)}" data-from="${last}"></script>`,
      linkTo: pathOf,
    },
  );
}

function treeItem({ session, status = '', skill, title = '', steps, doing, children }: TreeView): string {
  const name = skill ? `${skill} ${session}` : session;
  const now = doing.length > 0 ? ` · ${escapeHtml(doing.join(', '))}` : '';
  const below = children.length > 0 ? `<ul>${children.map(treeItem).join('')}</ul>` : '';
  return `<li><a href="${pathOf(session)}">${escapeHtml(name)}</a> <strong>${escapeHtml(status)}</strong> · ${steps} ${steps === 1 ? 'step' : 'steps'} · ${escapeHtml(title)}${now}${below}</li>`;
}

const pathOf = (session: string): string => `/sessions/${encodeURIComponent(session)}`;

const navigation = (hasQueues: boolean): string =>
  `<nav><a href="/">Sessions</a>${hasQueues ? ' · <a href="/queues">Queues</a>' : ''} · <a href="/api/v1/openapi.json">API</a></nav>\n`;

/**
 * What was logged since is added to the page, and its head replaced, so that what somebody opened stays
 * open. Sub-agents log elsewhere: while the turn is open, the tree is looked at from time to time.
 */
export const FOLLOW = `const { session, from } = document.currentScript.dataset;
let asked = false;
async function refresh() {
  if (asked) return;
  asked = true;
  await new Promise((resolve) => setTimeout(resolve, 500));
  asked = false;
  const response = await fetch(location.pathname);
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const part of ['#tree', 'article dl', 'article h1']) {
    const [now, then] = [page.querySelector(part), document.querySelector(part)];
    if (now && then) then.replaceWith(now);
  }
  const article = document.querySelector('article');
  article.append(...[...page.querySelector('article').children].slice(article.children.length));
}
const events = new EventSource('/api/v1/sessions/' + encodeURIComponent(session) + '/events?from=' + from);
events.onmessage = refresh;
setInterval(() => {
  if (/running|interrupted/.test(document.querySelector('#tree strong').textContent)) refresh();
}, 2000);
`;

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; vertical-align: top; }
.running { color: #3b82f6; } .failed, .no_answer { color: #ef4444; } .completed { color: #10b981; }
`;
