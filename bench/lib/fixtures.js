// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const packageFolder = fileURLToPath(new URL('../../', import.meta.url));

/** An environment in which only what a row writes exists. */
export const cleanEnv = (/** @type {string} */ home) => ({ PATH: process.env.PATH ?? '', HOME: home, NO_COLOR: '1' });

/**
 * A configuration that points at the stand-in.
 * @param {string} folder
 * @param {string} baseUrl
 * @param {string} [more]
 */
export async function writeConfig(folder, baseUrl, more = '') {
  const provider = `default_model = "standin/answer"\n\n[[providers]]\nname = "standin"\nkind = "openai"\nbase_url = "${baseUrl}"\nmodels = ["*"]\n`;
  await writeFile(join(folder, 'reasonix.toml'), `${provider}\n${more}`);
}

const TOPICS = [
  'deploy',
  'review',
  'incident',
  'migration',
  'release',
  'invoice',
  'zebra',
  'report',
  'budget',
  'audit',
];

/**
 * Skills of about 2 KB in the project's folder.
 * @param {string} folder
 * @param {number} count
 * @returns {Promise<string[]>} their files
 */
export async function writeSkills(folder, count) {
  const files = [];
  for (let index = 0; index < count; index++) {
    const topic = TOPICS[index % TOPICS.length];
    const name = `${topic}-${String(index).padStart(5, '0')}`;
    const description = `Handles the ${topic} of number ${index}. Use when somebody asks for the ${topic} of a team.`;
    const body = `# ${topic} ${index}\n\n${'Read what there is, decide, write down why, and stop.\n'.repeat(36)}`;
    const path = join(folder, '.reasonix', 'skills', name);
    await mkdir(path, { recursive: true });
    files.push(join(path, 'SKILL.md'));
    await writeFile(join(path, 'SKILL.md'), `---\nname: ${name}\ndescription: ${description}\n---\n${body}`);
  }
  return files;
}
