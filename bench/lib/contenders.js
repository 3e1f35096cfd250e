// @ts-check
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { replyOf } from './asking.js';

/** @typedef {import('../workers/agent.js').Sample} Sample */

/** Who takes part: a name, the adapter, and the package in `bench/peers` that it needs. */
export const CONTENDERS = [
  { name: 'ours', adapter: './ours.js', needs: undefined, stream: true },
  { name: 'raw fetch', adapter: '../peers/raw-fetch.js', needs: undefined, stream: false },
  { name: 'raw fetch, streamed', adapter: '../peers/raw-fetch.js', needs: undefined, stream: true },
  { name: 'pi-agent-core', adapter: '../peers/pi.js', needs: '@mariozechner/pi-agent-core', stream: true },
  { name: 'ai', adapter: '../peers/ai.js', needs: 'ai', stream: false },
  { name: '@openai/agents', adapter: '../peers/openai-agents.js', needs: '@openai/agents', stream: false },
  { name: 'deepagents', adapter: '../peers/deepagents.js', needs: 'deepagents', stream: false },
];

export const peersFolder = fileURLToPath(new URL('../peers/', import.meta.url));

/** @param {string | undefined} name */
export const isInstalled = (name) => name === undefined || existsSync(`${peersFolder}node_modules/${name}`);

const worker = fileURLToPath(new URL('../workers/agent.js', import.meta.url));

/**
 * Starts a contender in a process of its own.
 * @param {(typeof CONTENDERS)[number]} contender
 * @param {{ baseUrl: string, folder: string, bare?: boolean, child?: string | undefined }} options
 */
export async function startContender({ name, adapter, stream }, options) {
  // A library's complaints are not part of the table.
  const child = fork(worker, [adapter, JSON.stringify({ ...options, stream })], {
    stdio: ['ignore', 'ignore', name === 'ours' ? 'inherit' : 'ignore', 'ipc'],
  });
  /** @returns {Promise<{ sample?: Sample, problem?: string }>} */
  const reply = () => replyOf(child, name);
  await reply();
  return {
    /**
     * @param {import('../workers/agent.js').What} what
     * @param {number} size
     * @returns {Promise<Sample>}
     */
    async run(what, size) {
      child.send({ what, size });
      const { sample, problem } = await reply();
      if (!sample) throw new Error(`${name}: ${problem}`);
      return sample;
    },
    stop: () => void child.kill(),
  };
}
