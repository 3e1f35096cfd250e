// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { openRuntime } from '../../dist/index.js';
import { CONTENDERS, isInstalled, peersFolder, startContender } from '../lib/contenders.js';
import { cleanEnv, writeConfig, writeSkills } from '../lib/fixtures.js';
import { bytes } from '../lib/line.js';
import { runNode } from '../lib/spawn.js';

/** @typedef {import('../lib/line.js').Line} Line */
/** @typedef {import('../run.js').Context} Context */

const GO = 'reasonix (Go)';
/** Ours with nothing but the tools that the job needs, as the peers have it, and one call for all children. */
const BARE = 'ours, bare';
/** Ours as it is, with one call for all children. */
const ONCE = 'ours, one call';

const requireOfPeers = createRequire(join(peersFolder, 'package.json'));

/**
 * What all requests of a job come to; `written` are the arguments of all calls that the parent's model made.
 * @typedef {{ bytes: number, tokens: number, written: number, writtenTokens: number, requests: number }} Total
 */

/**
 * A way of ours besides the one that is everybody's.
 * @typedef {{ name: string, bare: boolean, what: import('../workers/agent.js').What }} Way
 */

/**
 * All requests that one job takes, by contender. One run each: they do not vary.
 * @param {Context} context
 * @param {'children' | 'chain' | 'job'} what
 * @param {number} size
 * @param {{ ways?: Way[], child?: string }} [options] `child`: the model of our workers
 */
async function totalsOf({ standIn, folder, progress }, what, size, options = {}) {
  const { ways = [{ name: BARE, bare: true, what }], child } = options;
  /** @type {Map<string, Total>} */
  const totals = new Map();
  const contenders = CONTENDERS.filter(({ needs }) => isInstalled(needs));
  const runs = [
    ...contenders.map((contender) => ({ contender, name: contender.name, bare: false, what })),
    ...contenders.slice(0, 1).flatMap((ours) => ways.map((way) => ({ contender: ours, ...way }))),
  ];
  for (const { contender, name, bare, what: how } of runs) {
    progress(`requests of ${what}: ${name}`);
    const start = { baseUrl: standIn.baseUrl, folder: await folder(), bare, child };
    const { run, stop } = await startContender(contender, start);
    try {
      await standIn.take();
      await run(how, size);
      totals.set(name, total(await standIn.take()));
    } finally {
      stop();
    }
  }
  return totals;
}

/**
 * Tokens are those of what a provider counts, messages and tools as they are sent, by the encoding of OpenAI's newer
 * models.
 * @param {import('../lib/stand-in.js').Seen[]} seen
 * @returns {Total}
 */
function total(seen) {
  const count = tokenCounter();
  const calls = callsOf(seen);
  return {
    bytes: seen.reduce((sum, each) => sum + each.bytes, 0),
    tokens: seen.reduce((sum, { body = '{}' }) => sum + count(promptOf(body)), 0),
    written: calls.reduce((sum, call) => sum + Buffer.byteLength(call), 0),
    writtenTokens: calls.reduce((sum, call) => sum + count(call), 0),
    requests: seen.length,
  };
}

/** @param {string} body */
function promptOf(body) {
  const { tools, messages } = JSON.parse(body);
  return JSON.stringify({ tools, messages });
}

/**
 * The arguments of the calls of whoever asked first, which is the parent: its last request has all of them.
 * @param {import('../lib/stand-in.js').Seen[]} seen
 * @returns {string[]}
 */
function callsOf(seen) {
  const last = seen.findLast(({ model }) => model === seen[0]?.model);
  /** @type {{ messages: { tool_calls?: { function: { arguments: string } }[] }[] }} */
  const { messages } = JSON.parse(last?.body ?? '{"messages":[]}');
  return messages.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function.arguments));
}

/** @type {((text: string) => number) | undefined} */
let countTokens;

/** Counts tokens; without the peers, which bring the encoding, there is no number. */
function tokenCounter() {
  countTokens ??= openCounter();
  return countTokens;
}

/** @returns {(text: string) => number} */
function openCounter() {
  if (!isInstalled('js-tiktoken')) return () => Number.NaN;
  const { Tiktoken } = requireOfPeers('js-tiktoken/lite');
  const ranks = requireOfPeers('js-tiktoken/ranks/o200k_base');
  const encoding = new Tiktoken(ranks);
  return (text) => encoding.encode(text, [], []).length;
}

/**
 * The Go program on a project of its own, with whatever `write` puts there.
 * @param {Context} context
 * @param {string} model
 * @param {(folder: string) => Promise<unknown>} write
 * @param {string} [child] the model of the workers
 */
async function goRequests({ folder, standIn, progress }, model, write, child = 'child-50ms') {
  const cwd = await folder();
  progress(`requests of ${model}: ${GO}`);
  await write(cwd);
  const names = [model, child, 'long'];
  const providers = names.map(
    (name) =>
      `[[providers]]\nname = "${name}"\nkind = "openai"\nbase_url = "${standIn.baseUrl}"\nmodel = "${name}"\napi_key_env = "STANDIN_KEY"\n`,
  );
  await writeFile(join(cwd, 'reasonix.toml'), `default_model = "${model}"\n\n${providers.join('\n')}`);
  const env = { ...cleanEnv(cwd), STANDIN_KEY: 'none', XDG_CONFIG_HOME: join(cwd, '.config') };
  await standIn.take();
  await runNode([join(peersFolder, 'node_modules/reasonix/bin/reasonix.js'), 'run', 'Take notes.'], { cwd, env });
  return standIn.take();
}

/** @param {string} cwd @param {string} [child] the model of the workers */
async function goSkills(cwd, child = 'child-50ms') {
  for (const [name, model] of Object.entries({ worker: child, reporter: 'long' })) {
    const path = join(cwd, '.reasonix', 'skills', `${name}`);
    await mkdir(path, { recursive: true });
    const head = `---\nname: ${name}\ndescription: Takes one note.\nrunAs: subagent\nmodel: ${model}\n---\n`;
    await writeFile(join(path, 'SKILL.md'), `${head}Take one note, then answer.\n`);
  }
}

/** @typedef {'bytes' | 'tokens' | 'written' | 'writtenTokens'} Unit */
/** @type {Record<Unit, string>} */
const UNITS = {
  bytes: 'bytes of all requests',
  tokens: 'tokens of all requests',
  written: 'bytes that the parent wrote',
  writtenTokens: 'tokens that the parent wrote',
};

/**
 * Ours against the leanest peer, and against the Go program. Only bytes of requests have targets. Call by call a
 * fan-out has none against the peer: what makes it cheap is one call for all.
 * @param {string} what
 * @param {Map<string, Total>} totals
 * @param {{ toPeer?: number, toGo?: number }} limits
 * @param {Unit[]} [units]
 * @returns {Line[]}
 */
function against(what, totals, limits, units = ['bytes', 'tokens']) {
  const { ours, [ONCE]: once, [BARE]: bare, [GO]: go, ...others } = Object.fromEntries(totals);
  const peers = Object.entries(others).filter(([name]) => !name.startsWith('raw fetch'));
  return units.flatMap((unit) => {
    const isBytes = unit === 'bytes' || unit === 'written';
    const text = (/** @type {Total} */ each) => (isBytes ? bytes(each[unit]) : each[unit].toLocaleString('en'));
    /** @param {string} how @param {Total | undefined} mine @param {string} name @param {Total | undefined} other @param {number} [limit] @returns {Line[]} */
    const line = (how, mine, name, other, limit) => {
      if (!mine || !other || Number.isNaN(mine[unit])) return [];
      const ratio = mine[unit] / other[unit];
      const target = limit === undefined || unit !== 'bytes' ? {} : { target: `≤ ${limit} ×`, ok: ratio <= limit };
      const named = `${what}${how}: ${UNITS[unit]}`;
      return [{ what: named, ours: text(mine), against: `${name} ${text(other)}`, ratio, ...target }];
    };
    const [leanest = '', best] = peers.sort(([, left], [, right]) => left[unit] - right[unit])[0] ?? [];
    const all = Object.fromEntries(Object.entries(others).map(([name, each]) => [name, text(each)]));
    return [
      ...line('', ours, leanest, best, limits.toPeer).map((each) => ({ ...each, others: all })),
      ...line(', by one call', once, leanest, best, 1),
      ...line(', the leanest way', bare, leanest, best, 1),
      ...line('', ours, `${GO}, ${go?.requests} requests,`, go, limits.toGo),
    ];
  });
}

/**
 * The first request of a session over `count` skills.
 * @param {Context} context
 * @param {number} count
 * @param {boolean} lazy
 */
async function standing({ folder, standIn }, count, lazy) {
  const cwd = await folder();
  await writeConfig(cwd, standIn.baseUrl, `[skills]\nlazy = ${lazy}\n`);
  await writeSkills(cwd, count);
  const runtime = await openRuntime({ cwd, home: join(cwd, 'home'), env: {} });
  try {
    await standIn.take();
    await (await runtime.session()).send('Say done.').result;
    return (await standIn.take())[0]?.bytes ?? Number.NaN;
  } finally {
    await runtime.close();
  }
}

/** @type {Record<string, (context: Context) => Promise<Line[]>>} */
export const delegationRows = {
  async delegation(context) {
    await context.standIn.record(true);
    const fanOut = await totalsOf(context, 'children', 10);
    const child = 'finding-50ms';
    const job = await totalsOf(context, 'job', 10, {
      child,
      ways: [
        { name: ONCE, bare: false, what: 'jobAtOnce' },
        { name: BARE, bare: true, what: 'jobAtOnce' },
      ],
    });
    const chain = await totalsOf(context, 'chain', 3);
    const hasGo = isInstalled('reasonix');
    if (hasGo) {
      fanOut.set(GO, total(await goRequests(context, 'parent-10', goSkills)));
      job.set(GO, total(await goRequests(context, 'job-10', (cwd) => goSkills(cwd, child), child)));
      chain.set(GO, total(await goRequests(context, 'chain-3', goSkills)));
    }
    await context.standIn.record(false);
    const lines = [
      ...against('fan-out of ten', fanOut, { toGo: 0.1 }),
      ...against('fan-out of ten with 1 kB of instructions', job, { toGo: 0.1 }, [
        'bytes',
        'tokens',
        'written',
        'writtenTokens',
      ]),
      ...against('chain of three with 8 KB each', chain, { toPeer: 1 }),
    ];
    for (const count of [20, 200, 1_000]) {
      const catalog = await standing(context, count, false);
      const lazy = await standing(context, count, true);
      const go = hasGo ? await goRequests(context, 'answer', (cwd) => writeSkills(cwd, count)) : [];
      const others = hasGo ? { [GO]: bytes(Math.max(...go.map((each) => each.bytes))) } : {};
      const what = `first request over ${count.toLocaleString('en')} skills, lazy`;
      lines.push({ what, ours: bytes(lazy), against: `catalog ${bytes(catalog)}`, ratio: lazy / catalog, others });
    }
    return lines;
  },
};
