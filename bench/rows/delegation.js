// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openRuntime } from '../../dist/index.js';
import { CONTENDERS, isInstalled, peersFolder, startContender } from '../lib/contenders.js';
import { cleanEnv, writeConfig, writeSkills } from '../lib/fixtures.js';
import { bytes } from '../lib/line.js';
import { runNode } from '../lib/spawn.js';

/** @typedef {import('../lib/line.js').Line} Line */
/** @typedef {import('../run.js').Context} Context */

const GO = 'reasonix (Go)';

/**
 * Bytes of all requests that one job takes, by contender. One run each: they do not vary.
 * @param {Context} context
 * @param {'children' | 'chain'} what
 * @param {number} size
 */
async function bytesOf({ standIn, folder, progress }, what, size) {
  /** @type {Map<string, number>} */
  const totals = new Map();
  for (const contender of CONTENDERS.filter(({ needs }) => isInstalled(needs))) {
    progress(`bytes of ${what}: ${contender.name}`);
    const { run, stop } = await startContender(contender, { baseUrl: standIn.baseUrl, folder: await folder() });
    try {
      await standIn.take();
      await run(what, size);
      totals.set(contender.name, sum(await standIn.take()));
    } finally {
      stop();
    }
  }
  return totals;
}

const sum = (/** @type {{ bytes: number }[]} */ seen) => seen.reduce((total, { bytes: each }) => total + each, 0);

/**
 * The Go program on a project of its own, with whatever `write` puts there.
 * @param {Context} context
 * @param {string} model
 * @param {(folder: string) => Promise<unknown>} write
 */
async function goRequests({ folder, standIn, progress }, model, write) {
  const cwd = await folder();
  progress(`bytes of ${model}: ${GO}`);
  await write(cwd);
  const names = [model, 'child-50ms'];
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
async function goWorker(cwd) {
  const path = join(cwd, '.reasonix', 'skills', 'worker');
  await mkdir(path, { recursive: true });
  const head = '---\nname: worker\ndescription: Takes one note.\nrunAs: subagent\nmodel: child-50ms\n---\n';
  await writeFile(join(path, 'SKILL.md'), `${head}Take one note, then answer.\n`);
}

/**
 * @param {string} what
 * @param {Map<string, number>} totals
 * @param {number} [allowed]
 * @returns {Line}
 */
function against(what, totals, allowed) {
  const { ours = Number.NaN, ...others } = Object.fromEntries(totals);
  const peers = Object.entries(others).filter(([name]) => !name.startsWith('raw fetch'));
  const [leanest = 'nobody', best = Number.NaN] = peers.sort(([, left], [, right]) => left - right)[0] ?? [];
  const ratio = ours / best;
  return {
    what,
    ours: bytes(ours),
    against: `${leanest} ${bytes(best)}`,
    ratio,
    ...(allowed === undefined ? {} : { target: `≤ ${allowed} ×`, ok: ratio <= allowed }),
    others: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, bytes(value)])),
  };
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
    const fanOut = await bytesOf(context, 'children', 10);
    const chain = await bytesOf(context, 'chain', 3);
    /** @type {Line[]} */
    const lines = [
      against('fan-out of ten: bytes of all requests', fanOut, 1),
      against('chain of three with 8 KB each: bytes of all requests', chain, 1),
    ];
    const hasGo = isInstalled('reasonix');
    if (hasGo) {
      const seen = await goRequests(context, 'parent-10', goWorker);
      const ours = fanOut.get('ours') ?? Number.NaN;
      const ratio = ours / sum(seen);
      const beside = `${GO} ${bytes(sum(seen))} in ${seen.length} requests`;
      const what = 'fan-out of ten, against the Go program';
      // Where it does not offer its tool for skills at once, it has done nothing that compares.
      const hasDelegated = seen.length > 10;
      const target = hasDelegated ? { ratio, target: '≤ 0.1 ×', ok: ratio <= 0.1 } : {};
      lines.splice(1, 0, { what, ours: bytes(ours), against: beside, ...target });
    }
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
