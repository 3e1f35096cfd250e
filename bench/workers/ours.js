// @ts-check
/** Ours, as a program would use it: a configuration file, the SQLite store, one tool and one skill of its own. */
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { defineTool, openRuntime } from '../../dist/index.js';

/**
 * @param {string} baseUrl
 * @param {string} folder
 * @param {string} [child] the model of the workers
 */
export async function writeProject(baseUrl, folder, child = 'child-50ms') {
  const config = `
[[providers]]
name = "standin"
kind = "openai"
base_url = "${baseUrl}"
models = ["*"]

[agent]
max_concurrent = 200
max_spawns = 1000
child_max_steps = 1000

[tools]
enabled = ["note"]
`;
  await writeSkill(folder, 'worker', child);
  await writeFile(join(folder, 'reasonix.toml'), config);
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {string} model
 */
async function writeSkill(folder, name, model) {
  const head = `---\nname: ${name}\nmodel: standin/${model}\ndescription: Takes one note.\nrunAs: subagent\nallowed-tools: note\n---\n`;
  await mkdir(join(folder, '.reasonix', 'skills', name), { recursive: true });
  await writeFile(join(folder, '.reasonix', 'skills', name, 'SKILL.md'), `${head}Take one note, then answer.\n`);
}

/** Leaves a parent `run_skill` alone, as the peers' parents have one tool, and a child its note. */
const BARE = `
[skills]
disabled_skills = ["create-skill", "edit-skill", "explore", "research", "review", "security-review", "synthesize"]

[permissions]
deny = ["install_skill", "read_skill", "list_subagents", "read_result"]
`;

const BARE_OVERRIDES = ['agent.background=false', 'agent.child_notice=false'];

/**
 * @param {import('./agent.js').ContenderOptions} options
 * @returns {Promise<import('./agent.js').Contender>}
 */
export async function open({ baseUrl, folder, bare, child }) {
  await writeProject(baseUrl, folder, child);
  if (bare) await appendFile(join(folder, 'reasonix.toml'), BARE);
  let take = (/** @type {string} */ text) => text;
  const runtime = await openRuntime({
    cwd: folder,
    home: join(folder, 'home'),
    env: {},
    overrides: bare ? BARE_OVERRIDES : [],
    tools: [
      defineTool({
        name: 'note',
        description: 'Takes a note.',
        input: z.object({ text: z.string() }),
        effects: 'read',
        maxResult: 1_000,
        execute: async ({ text }) => take(text),
      }),
    ],
  });
  const send = async (/** @type {string} */ model, /** @type {typeof take} */ note) => {
    take = note;
    const session = await runtime.session({ model, system: 'You take notes.' });
    const { answer, status, error } = await session.send('Take notes.').result;
    if (status !== 'completed') throw new Error(`${status}: ${error}`);
    return answer;
  };
  return {
    turn: (steps, note) => send(`standin/turn-${steps}`, note),
    children: (count, note) => send(`standin/${bare ? 'items' : 'parent'}-${count}`, note),
    job: (count, note) => send(`standin/job-${count}`, note),
    jobAtOnce: (count, note) => send(`standin/jobitems-${count}`, note),
    chain: async (count, note) => {
      await writeSkill(folder, 'reporter', 'long');
      return send(`standin/chain-${count}`, note);
    },
    close: () => runtime.close(),
  };
}
