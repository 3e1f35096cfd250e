import { escapeHtml } from '../core/html.ts';
import { findSession } from './find-session.ts';
import { HttpProblem } from './problem.ts';
import type { Parts } from './routes.ts';
import type { TreeView } from './views.ts';

/** Sessions on a page of the list. */
const ROWS = 50;

/** What the list and a session have in common: where something is written, and how states look. */
const WORK = `
.running { color: light-dark(#1d4ed8, #60a5fa); } .completed { color: light-dark(#047857, #34d399); }
.failed, .no_answer, .limit { color: light-dark(#b91c1c, #f87171); } .interrupted, .queued, .parked, .cancelled { color: light-dark(#92400e, #fbbf24); }
form { margin: 1.5rem 0; } label { display: block; font-size: .9rem; font-weight: bold; }
textarea { box-sizing: border-box; width: 100%; font: inherit; padding: .4rem .6rem; resize: vertical; }
button { font: inherit; padding: .2rem 1rem; margin: .4rem .4rem 0 0; } #turn { margin: 0; }
[role=status] { margin: .6rem 0; color: light-dark(#b91c1c, #f87171); } [role=status]:empty { display: none; }
`;

const SESSION_STYLE = `
#tree, #tree ul { padding-left: 1.2rem; }
${WORK}`;

/** The newest sessions, or those behind a cursor. */
export async function listPage({ runtime, views }: Parts, cursor: string | undefined): Promise<string> {
  const { sessions, next } = await runtime.store.list({ kind: 'root' }, { by: 'updated', limit: ROWS, cursor });
  const told = await views.summaries(runtime, sessions);
  const rows = sessions.map(({ session, title, updatedAt, model, cwd }, index) => {
    const { status = '' } = told[index] ?? {};
    return `<tr><td class="task"><a href="${pathOf(session)}">${escapeHtml(title || session)}</a></td><td class="state">${stateHtml(status)}</td><td class="model">${escapeHtml(model)}</td><td>${escapeHtml(cwd)}</td><td class="used"><time datetime="${escapeHtml(updatedAt)}">${escapeHtml(updatedAt.slice(0, 16).replace('T', ' '))}</time></td></tr>`;
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
${askForm({ path: '/api/v1/sessions', field: 'task', label: 'New task', buttons: '<button type="submit">Start</button>' })}
${sessions.length > 0 ? table : '<p>No sessions yet.</p>'}
${older}
<script src="/ask.js"></script>
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
  const ask = summary.kind === 'root' ? `${messageForm(id, tree.status)}\n<script src="/ask.js"></script>\n` : '';
  return views.page(
    { summary, events },
    {
      before: `${navigation(runtime.config.engine.url !== undefined)}${up}<ul id="tree">${treeItem(tree)}</ul>\n`,
      after: `\n<p id="connection" role="status"></p>\n${ask}<script src="/follow.js" data-session="${escapeHtml(id)}" data-from="${last}"></script>`,
      style: SESSION_STYLE,
      linkTo: pathOf,
    },
  );
}

/** An open turn takes no message: it is cancelled, or finished when it was cut. */
function messageForm(id: string, status: string | undefined): string {
  const path = `/api/v1${pathOf(id)}`;
  const cancel = `<button type="button" data-post="${path}/cancel">Cancel</button>`;
  const finish = `<button type="button" data-post="${path}/resume">Finish the turn</button>`;
  const send = '<button type="submit">Send</button>';
  const buttons = status === 'interrupted' ? finish + cancel : isOpen(status) ? cancel : send;
  return askForm({ path: `${path}/messages`, field: 'text', label: 'Message', buttons });
}

function askForm({ path, field, label, buttons }: Record<'path' | 'field' | 'label' | 'buttons', string>): string {
  return `<form id="ask" data-path="${path}" data-field="${field}">
<label for="text">${label}</label>
<textarea id="text" name="text" rows="3" dir="auto"></textarea>
<p id="turn">${buttons}</p>
<p role="status"></p>
</form>`;
}

const stateHtml = (status: string, element = 'span'): string =>
  `<${element} class="${escapeHtml(status)}">${escapeHtml(status.replace('_', ' '))}</${element}>`;

function treeItem({ session, status = '', skill, title = '', steps, doing, children }: TreeView): string {
  const name = skill ? `${skill} ${session}` : session;
  const now = doing.length > 0 ? ` · <bdi>${escapeHtml(doing.join(', '))}</bdi>` : '';
  const below = children.length > 0 ? `<ul>${children.map(treeItem).join('')}</ul>` : '';
  return `<li><a href="${pathOf(session)}">${escapeHtml(name)}</a> ${stateHtml(status, 'strong')} · ${steps} ${steps === 1 ? 'step' : 'steps'} · <bdi>${escapeHtml(title)}</bdi>${now}${below}</li>`;
}

const isOpen = (status = ''): boolean => ['running', 'queued', 'parked', 'interrupted'].includes(status);

const pathOf = (session: string): string => `/sessions/${encodeURIComponent(session)}`;

const navigation = (hasQueues: boolean): string =>
  `<nav><a href="/">Sessions</a>${hasQueues ? ' · <a href="/queues">Queues</a>' : ''} · <a href="/api/v1/openapi.json">API</a></nav>\n`;

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } table { width: 100%; border-collapse: collapse; font-size: .9rem; margin-top: 1.5rem; }
th, td { text-align: left; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th, td.state, td.used { white-space: nowrap; } td.model { overflow-wrap: break-word; }
@media (max-width: 40rem) {
  thead { display: none; } tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  table, tbody { display: block; } td { display: inline; padding: 0; border: 0; } td.task { display: block; } td + td + td::before { content: " · "; }
}
${WORK}`;
