// @ts-check
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled, peersFolder } from '../lib/contenders.js';
import { cleanEnv, packageFolder, writeSkills } from '../lib/fixtures.js';
import { ms } from '../lib/line.js';
import { interleaved, median } from '../lib/measure.js';
import { runNode } from '../lib/spawn.js';

/** @typedef {import('../lib/line.js').Line} Line */
/** @typedef {import('../run.js').Context} Context */

const worker = join(packageFolder, 'bench/workers/import.js');
const library = new URL('../../dist/index.js', import.meta.url).href;

/** What a program of a peer's would import first. */
const PEERS = {
  'pi-agent-core': '@mariozechner/pi-agent-core/dist/index.js',
  ai: 'ai/dist/index.mjs',
  '@openai/agents': '@openai/agents/dist/index.mjs',
  deepagents: 'deepagents/dist/index.js',
};

/** @type {Record<string, (context: Context) => Promise<Line[]>>} */
export const startRows = {
  async start({ folder, quick, progress }) {
    const cwd = await folder();
    await writeSkills(cwd, 13);
    const bin = join(packageFolder, 'bin/reasonix.js');
    const commands = {
      bare: ['-e', '0'],
      '--version': [bin, '--version'],
      'skill list': [bin, 'skill', 'list'],
    };
    const options = { cwd, env: cleanEnv(join(cwd, 'home')) };
    const samples = await interleaved(quick ? 5 : 25, Object.keys(commands), (name) => {
      progress(`start: ${name}`);
      return runNode(commands[/** @type {keyof typeof commands} */ (name)], options);
    });
    const of = (/** @type {string} */ name) => median((samples.get(name) ?? []).map((sample) => sample.ms));
    const bare = of('bare');
    const listed = samples.get('skill list')?.at(-1)?.stdout ?? '';
    const headed = listed.trim().split('\n').length;
    if (headed !== 21) throw new Error(`skill list does not show 20 skills:\n${listed}`);
    const lines = ['--version', 'skill list'].map((name) => ({
      what: `reasonix ${name}${name === 'skill list' ? ' (20 skills)' : ''}`,
      ours: ms(of(name)),
      against: `node -e 0 ${ms(bare)}`,
      ratio: of(name) / bare,
      target: '≤ 1.5 ×',
      ok: of(name) / bare <= 1.5,
    }));
    return lines;
  },

  async import({ quick, progress }) {
    const modules = new Map([['ours', library]]);
    for (const [name, path] of Object.entries(PEERS)) {
      const file = join(peersFolder, 'node_modules', path);
      if (isInstalled(name) || existsSync(file)) modules.set(name, `file://${file}`);
    }
    const samples = await interleaved(quick ? 3 : 11, [...modules.keys()], async (name) => {
      progress(`import: ${name}`);
      return Number((await runNode([worker, modules.get(name) ?? ''])).stdout);
    });
    const sdks = (await runNode([worker, library, '--sdks'])).stdout.trim();
    const { ours = Number.NaN, ...others } = Object.fromEntries(
      [...samples].map(([name, list]) => [name, median(list)]),
    );
    const [leanest, best] = Object.entries(others).sort(([, left], [, right]) => left - right)[0] ?? [];
    const loaded = sdks === '' ? 'no provider SDK' : `loads ${[...new Set(sdks.split('\n'))].join(', ')}`;
    return [
      {
        what: 'import of the library',
        ours: `${ms(ours)}, ${loaded}`,
        ...(leanest && best ? { against: `${leanest} ${ms(best)}`, ratio: ours / best } : {}),
        target: '≤ 100 ms, no SDK',
        ok: ours <= 100 && sdks === '',
        others: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, ms(value)])),
      },
    ];
  },
};
