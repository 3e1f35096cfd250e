/**
 * The sessions of a run as a tree that grows while they work: drawn again in place on a terminal, a
 * line an event anywhere else.
 */
export class LiveTree {
  #stream;
  #inPlace;
  #colours;
  #nodes = new Map();
  #drawn = 0;

  /** @param {import('node:tty').WriteStream} stream */
  constructor(stream, { env = process.env } = {}) {
    this.#stream = stream;
    this.#inPlace = Boolean(stream.isTTY) && env.TERM !== 'dumb';
    this.#colours = this.#inPlace && !env.NO_COLOR;
  }

  /** The session at the root; its children join when they start. */
  root(session) {
    this.#nodes.set(session, newNode(session, 'agent', 0));
  }

  /** @param {import('reasonix').Observation} seen */
  observe(seen) {
    if (seen.kind !== 'event') return;
    const { session, event } = seen;
    const node = this.#nodes.get(session) ?? this.#join(event);
    if (!node) return;
    const news = take(node, event);
    if (news === undefined) return;
    if (this.#inPlace) this.#draw();
    else this.#stream.write(`${'  '.repeat(node.depth)}${node.session}  ${node.skill}  ${news}\n`);
  }

  #join(event) {
    const parent = event.type === 'session.started' && this.#nodes.get(event.parent?.session);
    if (!parent) return undefined;
    const node = newNode(event.session, event.skill.name, parent.depth + 1);
    parent.children.push(node);
    this.#nodes.set(event.session, node);
    return node;
  }

  #draw() {
    const [root] = this.#nodes.values();
    const lines = [...rows(root)].map(({ guide, node }) => this.#line(guide, node));
    const back = this.#drawn > 0 ? `\x1b[${this.#drawn}A` : '';
    this.#stream.write(`${back}${lines.map((line) => `\x1b[2K${line}\n`).join('')}`);
    this.#drawn = lines.length;
  }

  #line(guide, { session, skill, status, doing, tokens }) {
    const mark = { running: '◐', completed: '●' }[status] ?? '○';
    const text = `${guide}${mark} ${skill}  ${session}  ${status === 'running' ? doing : status}  ${tokens} tokens`;
    // A line that wraps would spoil the way back up.
    const shown = text.slice(0, (this.#stream.columns || 80) - 1);
    if (!this.#colours) return shown;
    return status === 'running'
      ? `\x1b[36m${shown}\x1b[0m`
      : status === 'completed'
        ? shown
        : `\x1b[31m${shown}\x1b[0m`;
  }
}

const newNode = (session, skill, depth) => ({
  session,
  skill,
  depth,
  status: 'running',
  doing: 'starting',
  steps: 0,
  tokens: 0,
  children: [],
});

/** Notes what an event says about its session. Returns it in words, or nothing for an event without news. */
function take(node, event) {
  switch (event.type) {
    case 'user.message':
      node.status = 'running';
      return `${event.origin}: ${event.content.split('\n')[0].slice(0, 100)}`;
    case 'assistant.message': {
      node.steps += 1;
      node.tokens += event.usage.input + event.usage.output;
      const names = event.toolCalls.map(({ name }) => name);
      node.doing = names.length > 0 ? names.join(', ') : 'answering';
      return `step ${node.steps}: ${node.doing}`;
    }
    case 'skill.loaded':
      return event.via === 'run_skill' ? undefined : `loaded ${event.name}`;
    case 'turn.ended':
      node.status = event.status;
      return `${event.status} after ${node.steps} steps, ${node.tokens} tokens`;
    default:
      return undefined;
  }
}

function* rows(node, guide = '', below = '') {
  yield { guide, node };
  for (const [index, child] of node.children.entries()) {
    const isLast = index === node.children.length - 1;
    yield* rows(child, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`);
  }
}
