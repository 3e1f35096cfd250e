#!/usr/bin/env node
// @ts-check
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CONTENDERS, isInstalled } from './lib/contenders.js';
import { table } from './lib/line.js';
import { startStandIn } from './lib/stand-in.js';
import { agentRows } from './rows/agents.js';
import { delegationRows } from './rows/delegation.js';
import { engineRows } from './rows/engine.js';
import { manyChildrenRows } from './rows/many-children.js';
import { requestRows } from './rows/requests.js';
import { sessionRows } from './rows/sessions.js';
import { skillRows } from './rows/skills.js';
import { startRows } from './rows/start.js';

/**
 * What a row may use.
 * @typedef {object} Context
 * @property {import('./lib/stand-in.js').StandIn} standIn
 * @property {() => Promise<string>} folder makes an empty folder, removed at the end
 * @property {boolean} quick fewer rounds
 * @property {(text: string) => void} progress
 */

/** @type {Record<string, (context: Context) => Promise<import('./lib/line.js').Line[]>>} */
const ROWS = {
  ...startRows,
  ...requestRows,
  ...delegationRows,
  ...agentRows,
  ...manyChildrenRows,
  ...sessionRows,
  ...skillRows,
  ...engineRows,
};

const USAGE = `npm run bench -- [--only NAME,NAME] [--quick] [--json]\nrows: ${Object.keys(ROWS).join(', ')}`;

/** @param {string} text */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

/** @param {readonly string[]} names @param {boolean} quick */
async function measure(names, quick) {
  const root = await mkdtemp(join(tmpdir(), 'reasonix-bench-'));
  const standIn = await startStandIn();
  const context = { standIn, quick, progress, folder: () => mkdtemp(join(root, 'f')) };
  try {
    const results = [];
    for (const name of names) {
      const startedAt = performance.now();
      try {
        results.push(...((await ROWS[name]?.(context)) ?? []).map((line) => ({ row: name, ...line })));
      } catch (error) {
        // The other rows still say something.
        console.error(error);
        process.exitCode = 1;
      }
      progress('');
      console.error(`${name}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
    }
    return results;
  } finally {
    standIn.stop();
    await rm(root, { recursive: true, force: true });
  }
}

/** @returns {{ names: string[], quick: boolean, json: boolean }} */
function options() {
  const { only, quick, json, help } = parseArgs({
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  }).values;
  const names = only?.split(',') ?? Object.keys(ROWS);
  const unknown = names.filter((name) => !(name in ROWS));
  if (unknown.length > 0) throw new Error(`no such row: ${unknown.join(', ')}`);
  if (help) {
    console.log(USAGE);
    process.exit();
  }
  return { names, quick, json };
}

/** @type {ReturnType<typeof options>} */
let chosen;
try {
  chosen = options();
} catch (error) {
  console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  process.exit(2);
}

const missing = CONTENDERS.filter(({ needs }) => !isInstalled(needs)).map(({ name }) => name);
if (missing.length > 0) {
  console.error(`not installed and left out: ${missing.join(', ')} (cd bench/peers && npm install)`);
}
const lines = await measure(chosen.names, chosen.quick);
const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.version, platform: process.platform };
if (chosen.json) console.log(JSON.stringify({ machine, missing, lines }, null, 2));
else console.log(table(lines).join('\n'));
