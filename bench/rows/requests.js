// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openRuntime } from '../../dist/index.js';
import { isInstalled, peersFolder } from '../lib/contenders.js';
import { cleanEnv, packageFolder, writeConfig } from '../lib/fixtures.js';
import { bytes, ms } from '../lib/line.js';
import { interleaved, median } from '../lib/measure.js';
import { runNode } from '../lib/spawn.js';

/** @typedef {import('../lib/line.js').Line} Line */
/** @typedef {import('../run.js').Context} Context */

const SMALL_SKILLS = {
  'find-callers':
    'Find every caller of the function that the task names. Grep for it, read each hit, and answer with one line a caller.\n',
  'count-todos':
    'Count the TODO comments under the folder that the task names. Answer with the number and the three oldest.\n',
};

/**
 * @param {Context} context
 * @param {{ skills?: Record<string, string>, builtins?: boolean }} options
 */
async function project({ folder, standIn }, { skills = {}, builtins = true }) {
  const cwd = await folder();
  const without = builtins ? '' : `[skills]\nexcluded_paths = [${JSON.stringify(join(packageFolder, 'skills'))}]\n`;
  await writeConfig(cwd, standIn.baseUrl, without);
  for (const [name, body] of Object.entries(skills)) {
    const path = join(cwd, '.reasonix', 'skills', name);
    await mkdir(path, { recursive: true });
    const head = `---\nname: ${name}\ndescription: ${body.split('. ')[0]}.\nrunAs: subagent\n---\n`;
    await writeFile(join(path, 'SKILL.md'), head + body);
  }
  return openRuntime({ cwd, home: join(cwd, 'home'), env: {} });
}

/**
 * The first requests of a run: the parent's, or a child's when `skill` is named.
 * @param {Context} context
 * @param {Parameters<typeof project>[1] & { task: string, skill?: string }} options
 */
async function firstRequest(context, { task, skill, ...options }) {
  const { standIn } = context;
  const runtime = await project(context, options);
  await standIn.record(true);
  try {
    if (skill) await runtime.skill(skill).run(task);
    else await (await runtime.session({ model: 'standin/answer' })).send(task).result;
  } finally {
    await runtime.close();
  }
  const [first] = await standIn.take();
  await standIn.record(false);
  if (!first?.body) throw new Error('no request came');
  return { size: first.bytes, ...JSON.parse(first.body) };
}

/** @param {string} what @param {number} size @param {number} limit @param {Partial<Line>} [more] @returns {Line} */
const sized = (what, size, limit, more = {}) => ({
  what,
  ours: bytes(size),
  target: `≤ ${bytes(limit)}`,
  ok: size <= limit,
  ...more,
});

/** The Go program's first request, when it is installed. @param {Context} context */
async function reasonixGo({ folder, standIn, quick, progress }) {
  const cwd = await folder();
  const bin = join(peersFolder, 'node_modules/reasonix/bin/reasonix.js');
  const provider = `default_model = "standin"\n\n[[providers]]\nname = "standin"\nkind = "openai"\nbase_url = "${standIn.baseUrl}"\nmodel = "answer"\napi_key_env = "STANDIN_KEY"\n`;
  await writeFile(join(cwd, 'reasonix.toml'), provider);
  const ours = await folder();
  await writeConfig(ours, standIn.baseUrl);
  const env = (/** @type {string} */ home) => ({
    ...cleanEnv(home),
    STANDIN_KEY: 'none',
    XDG_CONFIG_HOME: join(home, '.config'),
  });
  await standIn.take();
  const samples = await interleaved(quick ? 2 : 7, ['ours', 'reasonix'], async (name) => {
    progress(`one-line answer: ${name}`);
    const { ms: took } =
      name === 'ours'
        ? await runNode([join(packageFolder, 'bin/reasonix.js'), 'run', 'Say done.'], { cwd: ours, env: env(ours) })
        : await runNode([bin, 'run', 'Say done.'], { cwd, env: env(cwd) });
    const sizes = (await standIn.take()).map((seen) => seen.bytes);
    return { took, size: Math.max(...sizes) };
  });
  const of = (/** @type {string} */ name, /** @type {'took' | 'size'} */ what) =>
    median((samples.get(name) ?? []).map((sample) => sample[what]));
  return {
    took: of('reasonix', 'took'),
    size: of('reasonix', 'size'),
    oursTook: of('ours', 'took'),
    oursSize: of('ours', 'size'),
  };
}

/** @type {Record<string, (context: Context) => Promise<Line[]>>} */
export const requestRows = {
  async requests(context) {
    const empty = await firstRequest(context, { task: '', builtins: false });
    const body = 'Do what the task says.\n';
    const task = 'Count the files.';
    const child = await firstRequest(context, { task, skill: 'plain', skills: { plain: body }, builtins: false });
    const tools = Buffer.byteLength(JSON.stringify(child.tools));
    const rest = child.size - Buffer.byteLength(body) - Buffer.byteLength(task) - tools;
    const small = { skills: SMALL_SKILLS, task: 'Who calls parseConfig?' };
    const parent = await firstRequest(context, small);
    const childOfTwo = await firstRequest(context, { ...small, skill: 'find-callers' });
    return [
      sized('first request of a run, empty task, no skills', empty.size, 4096),
      sized(`a child's first request without body, task and tools (${bytes(tools)})`, rest, 3072),
      sized('first request of a parent with two small skills', parent.size, 9000),
      sized('first request of such a child', childOfTwo.size, 6000),
    ];
  },

  async program(context) {
    if (!isInstalled('reasonix')) return [];
    const { took, size, oursTook, oursSize } = await reasonixGo(context);
    return [
      {
        what: 'one-line answer, whole process',
        ours: ms(oursTook),
        against: `reasonix (Go) ${ms(took)}`,
        ratio: oursTook / took,
      },
      {
        what: 'its first request',
        ours: bytes(oursSize),
        against: `reasonix (Go) ${bytes(size)}`,
        ratio: oursSize / size,
      },
    ];
  },
};
