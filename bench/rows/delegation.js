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

const requireOfPeers = createRequire(join(peersFolder, 'package.json'));

/**
 * What all requests of a job come to.
 * @typedef {{ bytes: number, tokens: number, requests: number }} Total
 */

/**
 * All requests that one job takes, by contender. One run each: they do not vary.
 * @param {Context} context
 * @param {'children' | 'chain'} what
 * @param {number} size
 */
async function totalsOf({ standIn, folder, progress }, what, size) {
  /** @type {Map<string, Total>} */
  const totals = new Map();
  const contenders = CONTENDERS.filter(({ needs }) => isInstalled(needs)).map((each) => ({ ...each, bare: false }));
  const [ours] = contenders;
  if (ours) contenders.push({ ...ours, bare: true });
  for (const { bare, ...contender } of contenders) {
    progress(`requests of ${what}: ${contender.name}`);
    const { run, stop } = await startContender(contender, { baseUrl: standIn.baseUrl, folder: await folder(), bare });
    try {
      await standIn.take();
      await run(what, size);
      totals.set(bare ? BARE : contender.name, total(await standIn.take()));
    } finally {
      stop();
    }
  }
  return totals;
}

/**
 * Tokens are those of the bodies as they are sent, by the encoding of OpenAI's newer models.
 * @param {import('../lib/stand-in.js').Seen[]} seen
 * @returns {Total}
 */
function total(seen) {
  const count = tokenCounter();
  return {
    bytes: seen.reduce((sum, each) => sum + each.bytes, 0),
    tokens: seen.reduce((sum, { body = '' }) => sum + count(body), 0),
    requests: seen.length,
  };
}

/** Counts tokens; without the peers, which bring the encoding, there is no number. */
function tokenCounter() {
  if (!isInstalled('js-tiktoken')) return () => Number.NaN;
  const { Tiktoken } = requireOfPeers('js-tiktoken/lite');
  const ranks = requireOfPeers('js-tiktoken/ranks/o200k_base');
  const encoding = new Tiktoken(ranks);
  return (/** @type {string} */ text) => encoding.encode(text, [], []).length;
}

/**
 * The Go program on a project of its own, with whatever `write` puts there.
 * @param {Context} context
 * @param {string} model
 * @param {(folder: string) => Promise<unknown>} write
 */
async function goRequests({ folder, standIn, progress }, model, write) {
  const cwd = await folder();
  progress(`requests of ${model}: ${GO}`);
  await write(cwd);
  const names = [model, 'child-50ms', 'long'];
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

/** @param {string} cwd */
async function goSkills(cwd) {
  for (const [name, model] of [
    ['worker', 'child-50ms'],
    ['reporter', 'long'],
  ]) {
    const path = join(cwd, '.reasonix', 'skills', `${name}`);
    await mkdir(path, { recursive: true });
    const head = `---\nname: ${name}\ndescription: Takes one note.\nrunAs: subagent\nmodel: ${model}\n---\n`;
    await writeFile(join(path, 'SKILL.md'), `${head}Take one note, then answer.\n`);
  }
}

/**
 * Ours against the leanest peer, and against the Go program.
 * @param {string} what
 * @param {Map<string, Total>} totals
 * @param {number | undefined} allowedToGo
 * @returns {Line[]}
 */
function against(what, totals, allowedToGo) {
  const { ours, [BARE]: bare, [GO]: go, ...others } = Object.fromEntries(totals);
  const peers = Object.entries(others).filter(([name]) => !name.startsWith('raw fetch'));
  return /** @type {const} */ (['bytes', 'tokens']).flatMap((unit) => {
    const text = (/** @type {Total} */ each) =>
      unit === 'bytes' ? bytes(each.bytes) : each.tokens.toLocaleString('en');
    /** @param {string} how @param {Total | undefined} mine @param {string} name @param {Total | undefined} other @param {number} [limit] @returns {Line[]} */
    const line = (how, mine, name, other, limit) => {
      if (!mine || !other || Number.isNaN(mine[unit])) return [];
      const ratio = mine[unit] / other[unit];
      const target = limit === undefined || unit === 'tokens' ? {} : { target: `≤ ${limit} ×`, ok: ratio <= limit };
      const named = `${what}${how}: ${unit} of all requests`;
      return [{ what: named, ours: text(mine), against: `${name} ${text(other)}`, ratio, ...target }];
    };
    const [leanest = '', best] = peers.sort(([, left], [, right]) => left[unit] - right[unit])[0] ?? [];
    const all = Object.fromEntries(Object.entries(others).map(([name, each]) => [name, text(each)]));
    return [
      ...line('', ours, leanest, best, 1).map((each) => ({ ...each, others: all })),
      ...line(', the leanest way', bare, leanest, best, 1),
      ...line('', ours, `${GO}, ${go?.requests} requests,`, go, allowedToGo),
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
    const chain = await totalsOf(context, 'chain', 3);
    const hasGo = isInstalled('reasonix');
    if (hasGo) {
      fanOut.set(GO, total(await goRequests(context, 'parent-10', goSkills)));
      chain.set(GO, total(await goRequests(context, 'chain-3', goSkills)));
    }
    await context.standIn.record(false);
    const lines = [
      ...against('fan-out of ten', fanOut, 0.1),
      ...against('chain of three with 8 KB each', chain, undefined),
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
