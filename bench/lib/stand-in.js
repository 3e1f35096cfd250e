// @ts-check
/**
 * A stand-in for an OpenAI-compatible server, run as a process of its own so that no contender pays
 * for it. What it answers is decided by the model's name alone, and the name may end in a latency:
 *
 *   answer           one line of text
 *   turn-50          49 steps with a call of `note`, then text
 *   child-50ms       a call of `note`, then text, each after 50 ms
 *   parent-200       200 delegating calls in one step, then text
 *   items-10         one call of `run_skill` for ten children, then text
 *   job-10           like parent-10, each task with the same instruction of 1 kB before it
 *   jobitems-10      like items-10, the instruction once for all of them
 *   finding-50ms     like child-50ms, with 300 bytes of text
 *   chain-3          three delegating calls one after the other, each with the answer before it, then text
 *   long             8 KB of text
 *   search-20        20 calls of `search_skills`, then text
 *
 * It counts the results in a request instead of parsing it, and sends a stream in one piece.
 */
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

/** @typedef {{ model: string, bytes: number, at: number, body?: string }} Seen */
/** @typedef {{ name: string, arguments: Record<string, unknown> }} Call */

/** How each contender names the tool that starts a child, and what it takes. */
/** @type {Record<string, (task: string, skill: string) => Record<string, unknown>>} */
const DELEGATES = {
  run_skill: (task, skill) => ({ name: skill, arguments: task }),
  task: (task) => ({ description: task, subagent_type: 'worker' }),
  delegate: (task) => ({ task }),
  use_capability: (task, skill) => ({
    action: 'call',
    capability_id: `skill:${skill}`,
    arguments: { arguments: task },
  }),
};

/** What somebody wants to know of each of several files. */
const INSTRUCTION = `Read the file that is named below and look at how it handles errors. For each place where something can fail (a file, a process, the network, text that is parsed, a promise that nobody waits for), find out what happens to the failure: is it passed on with its cause, made a message that says what to do, tried again within a limit, or lost? Count as lost also what is only logged, a catch that gives a default which its caller cannot tell from a real value, and a clean-up that hides the first error behind its own. Leave out style, names and comments: others look at those. Do not propose a redesign, and do not report what cannot happen: follow the callers until you know with which values the place is reached. Answer with one paragraph of at most sixty words: how many places you looked at, then those where a failure is lost, each with its line and with how somebody would notice, the worst first. If there are none, say so, and name the place that you doubted longest.`;

const FILES = [
  'src/orders/create-order.ts',
  'src/orders/cancel-order.ts',
  'src/payments/refund.ts',
  'src/payments/webhook.ts',
  'src/stock/reserve.ts',
  'src/stock/import-suppliers.ts',
  'src/mail/send-receipt.ts',
  'src/reports/daily-sales.ts',
  'src/users/reset-password.ts',
  'src/search/rebuild-index.ts',
];

/** @param {string} body */
const findingIn = (body) =>
  `${FILES.find((file) => body.includes(file))}: 14 places. Lost at line 88: the catch gives an empty list, which the caller takes for a day without orders; it shows in the report. Line 131: the clean-up throws when the file is gone, and hides why writing failed. The retry at line 47 has no limit, but its caller sets a deadline, so it ends.`;

const PATTERNS = ['deploy', 'zebra review', 'number 77', 'incident report', 'no such words at all'];

/**
 * @param {string} model
 * @param {string} body
 * @returns {Call[]} none for the final text
 */
function callsFor(model, body) {
  const [kind = '', count = '0'] = model.split('-');
  const results = occurrences(body, '"role":"tool"');
  if (kind === 'turn' && results < Number(count) - 1) return [note(results)];
  if ((kind === 'child' || kind === 'finding') && results === 0) return [note(0)];
  if (kind === 'search' && results < Number(count)) {
    return [{ name: 'search_skills', arguments: { pattern: PATTERNS[results % PATTERNS.length] } }];
  }
  if (kind === 'chain' && results < Number(count)) return link(body, results);
  if (kind === 'items' && results === 0) {
    const items = Array.from({ length: Number(count) }, (_, index) => `task ${index}`);
    return [{ name: 'run_skill', arguments: { name: 'worker', items } }];
  }
  if (kind === 'jobitems' && results === 0) {
    const items = FILES.slice(0, Number(count));
    return [{ name: 'run_skill', arguments: { name: 'worker', arguments: INSTRUCTION, items } }];
  }
  if (kind === 'parent' && results === 0) {
    return delegating(
      body,
      Array.from({ length: Number(count) }, (_, index) => `task ${index}`),
    );
  }
  if (kind === 'job' && results === 0) {
    return delegating(
      body,
      FILES.slice(0, Number(count)).map((file) => `${INSTRUCTION}\n\n${file}`),
    );
  }
  return [];
}

/**
 * A call for each task.
 * @param {string} body
 * @param {string[]} tasks
 * @returns {Call[]}
 */
function delegating(body, tasks) {
  const delegate = delegateOf(body);
  if (!delegate) return [];
  const [name, argumentsOf] = delegate;
  return tasks.map((task) => ({ name, arguments: argumentsOf(task, 'worker') }));
}

/**
 * The tool of a request that starts a child; a program may ask for a title without any.
 * @param {string} body
 */
const delegateOf = (body) => Object.entries(DELEGATES).find(([each]) => body.includes(`"name":"${each}"`));

/**
 * The next call of a chain. Where answers can be handed on by reference they are; elsewhere the model has
 * to write them out again.
 * @param {string} body
 * @param {number} index
 * @returns {Call[]}
 */
function link(body, index) {
  const delegate = delegateOf(body);
  if (!delegate) return [];
  const [name, argumentsOf] = delegate;
  const { messages } = JSON.parse(body);
  const last = String(messages.findLast((/** @type {{ role: string }} */ { role }) => role === 'tool')?.content ?? '');
  if (body.includes('inputs_from')) {
    const reference = /sa_\w+/.exec(last)?.[0];
    const inputs = reference === undefined ? {} : { inputs_from: [reference] };
    return [{ name, arguments: { ...argumentsOf(`task ${index}`, 'reporter'), ...inputs } }];
  }
  return [{ name, arguments: argumentsOf(`task ${index}\n${last}`, 'reporter') }];
}

/** @param {number} step */
const note = (step) => ({ name: 'note', arguments: { text: `step ${step}` } });

/**
 * @param {string} text
 * @param {string} part
 */
function occurrences(text, part) {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

/** An answer worth handing on. */
const LONG = 'What was found stands in this line, and the next one says more of it.\n'.repeat(115);

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
let lastId = 0;

/**
 * @param {string} model
 * @param {string} body
 */
const textFor = (model, body) =>
  model.startsWith('long') ? LONG : model.startsWith('finding') ? findingIn(body) : 'done';

/**
 * @param {string} model
 * @param {Call[]} calls
 * @param {string} text when there are none
 */
function completion(model, calls, text) {
  const toolCalls = calls.map(({ name, arguments: values }) => ({
    id: `call_${++lastId}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(values) },
  }));
  const message = calls.length > 0 ? { content: null, tool_calls: toolCalls } : { content: text };
  return {
    head: { id: `chatcmpl-${++lastId}`, created: 1_700_000_000, model },
    message: { role: 'assistant', ...message },
    finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
  };
}

/** @param {ReturnType<typeof completion>} answer */
function asJson({ head, message, finish_reason }) {
  const choices = [{ index: 0, message, finish_reason, logprobs: null }];
  return JSON.stringify({ ...head, object: 'chat.completion', choices, usage: USAGE });
}

/** @param {ReturnType<typeof completion>} answer */
function asStream({ head, message, finish_reason }) {
  const chunk = (/** @type {object} */ rest) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...rest })}\n\n`;
  const delta = (/** @type {object} */ part, /** @type {string | null} */ reason = null) =>
    chunk({ choices: [{ index: 0, delta: part, finish_reason: reason }] });
  const calls = 'tool_calls' in message ? message.tool_calls : [];
  const body = calls.map((call, index) => delta({ tool_calls: [{ index, ...call }] })).join('');
  const text = 'tool_calls' in message ? '' : delta({ content: message.content });
  return `${delta({ role: 'assistant', content: '' })}${text}${body}${delta({}, finish_reason)}${chunk({ choices: [], usage: USAGE })}data: [DONE]\n\n`;
}

function serve() {
  /** @type {Seen[]} */
  let seen = [];
  let keepBodies = false;
  const server = createServer((request, response) => {
    /** @type {Buffer[]} */
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const bytes = Buffer.concat(parts);
      const body = bytes.toString();
      const model = /"model":"([^"]+)"/.exec(body)?.[1] ?? '';
      const at = performance.timeOrigin + performance.now();
      seen.push({ model, bytes: bytes.length, at, ...(keepBodies ? { body } : {}) });
      const answer = () => {
        const completed = completion(model, callsFor(model, body), textFor(model, body));
        const stream = body.includes('"stream":true');
        response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json');
        response.end(stream ? asStream(completed) : asJson(completed));
      };
      const latency = Number(/-(\d+)ms$/.exec(model)?.[1] ?? 0);
      if (latency > 0) setTimeout(answer, latency);
      else answer();
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.send?.({ port: typeof address === 'object' ? address?.port : undefined });
  });
  process.on('message', (/** @type {{ record?: boolean }} */ { record }) => {
    process.send?.({ seen });
    seen = [];
    keepBodies = record ?? keepBodies;
  });
  process.on('disconnect', () => process.exit());
}

/** @typedef {Awaited<ReturnType<typeof startStandIn>>} StandIn */

/** Starts the server's process. Its `take` gives the requests since the last one; `record` keeps whole bodies. */
export async function startStandIn() {
  const server = fork(fileURLToPath(import.meta.url), ['serve']);
  /** @template T @returns {Promise<T>} */
  const reply = () =>
    new Promise((resolve) => server.once('message', (message) => resolve(/** @type {any} */ (message))));
  /** @type {{ port: number }} */
  const { port } = await reply();
  /** @param {{ record?: boolean }} message */
  const ask = async (message) => {
    const answered = /** @type {Promise<{ seen: Seen[] }>} */ (reply());
    server.send(message);
    return (await answered).seen;
  };
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    /** @param {boolean} keep */
    record: async (keep) => void (await ask({ record: keep })),
    take: () => ask({}),
    stop: () => void server.kill(),
  };
}

if (process.argv[2] === 'serve' && process.argv[1] === fileURLToPath(import.meta.url)) serve();
