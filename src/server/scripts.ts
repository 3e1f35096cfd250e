/**
 * What was logged since is added to the page, and its head replaced where it changed, so that what somebody
 * opened stays open. Sub-agents log elsewhere: while the turn is open, the tree is looked at from time to time.
 * A page that nobody sees follows nothing: browsers hold six connections to a server, for all pages together.
 */
export const FOLLOW = `const { session, from } = document.currentScript.dataset;
const connection = document.querySelector('#connection');
const LOST = 'The server cannot be reached; trying again.';
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const withFocus = (part) => [...part.querySelectorAll('a, button')];

let isBusy = false;
let isStale = false;
async function refresh() {
  isStale = true;
  if (isBusy) return;
  isBusy = true;
  while (isStale) {
    await sleep(300);
    isStale = false;
    await load().catch(() => {});
  }
  isBusy = false;
}

async function load() {
  const response = await fetch(location.pathname);
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  // Before parts of that page move to this one.
  const article = document.querySelector('article');
  const added = [...page.querySelector('article').children].slice(article.children.length);
  for (const part of ['#tree', '#turn', 'article dl', 'article h1']) {
    const [now, then] = [page.querySelector(part), document.querySelector(part)];
    if (!now || !then || now.isEqualNode(then)) continue;
    const focused = withFocus(then).indexOf(document.activeElement);
    then.replaceWith(now);
    withFocus(now)[focused]?.focus();
  }
  article.append(...added);
}

let last = from;
let events;
let again;
function follow() {
  clearTimeout(again);
  events?.close();
  const mine = new EventSource('/api/v1/sessions/' + encodeURIComponent(session) + '/events?from=' + last);
  events = mine;
  mine.onopen = () => {
    connection.textContent = '';
  };
  mine.onmessage = ({ lastEventId }) => {
    last = lastEventId;
    refresh();
  };
  mine.onerror = async () => {
    if (mine.readyState !== EventSource.CLOSED) {
      connection.textContent = LOST;
      return;
    }
    const status = await fetch(location.pathname, { method: 'HEAD' }).then(({ status }) => status, () => 0);
    if (events !== mine || document.hidden) return;
    connection.textContent =
      status === 401 ? 'The server has another token now: open the address that reasonix serve printed.'
      : status === 404 ? 'This session is gone.'
      : LOST;
    if (status !== 404) again = setTimeout(follow, 2000);
  };
}

follow();
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) return follow();
  clearTimeout(again);
  events.close();
});
setInterval(() => {
  if (!document.hidden && /running|queued|parked|interrupted/.test(document.querySelector('#tree strong').textContent)) refresh();
}, 2000);
`;

/** Sends what is written, and what buttons ask for, to the interface that programs use. */
export const ASK = `const form = document.querySelector('#ask');
const note = form.querySelector('[role=status]');
let isSending = false;

async function post(path, body) {
  if (isSending) return;
  isSending = true;
  note.textContent = '';
  try {
    const response = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (response.ok) return answer;
    const { message, hint } = answer.error;
    note.textContent = hint ? message + ' (' + hint + ')' : message;
  } catch {
    note.textContent = 'The server cannot be reached; nothing was sent.';
  } finally {
    isSending = false;
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { text } = form.elements;
  if (text.value.trim() === '') return;
  const answer = await post(form.dataset.path, { [form.dataset.field]: text.value });
  if (!answer) return;
  text.value = '';
  const there = '/sessions/' + encodeURIComponent(answer.session);
  if (location.pathname !== there) location.assign(there);
});
form.addEventListener('click', ({ target }) => {
  if (target.dataset.post) post(target.dataset.post, {});
});
form.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.querySelector('[type=submit]')?.click();
});
`;
