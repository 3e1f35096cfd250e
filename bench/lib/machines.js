// @ts-check
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { replyOf } from './asking.js';

/** @typedef {import('../workers/machine.js').MachineOptions} MachineOptions */
/** @typedef {import('../workers/machine.js').Asked} Asked */

const program = fileURLToPath(new URL('../workers/machine.js', import.meta.url));

/** @typedef {Awaited<ReturnType<typeof startMachine>>} Machine */

/**
 * Starts a process that can submit sessions and can run them.
 * @param {string} adapter
 * @param {MachineOptions} options
 */
export async function startMachine(adapter, options) {
  const child = fork(program, [adapter, JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  /** @returns {Promise<{ ms: number[], cpu: number, problem?: string }>} */
  const reply = () => replyOf(child, adapter);
  await reply();
  return {
    /** @param {Asked} asked */
    async ask(asked) {
      child.send(asked);
      const { problem, ...answer } = await reply();
      if (problem !== undefined) throw new Error(`${adapter}: ${problem}`);
      return answer;
    },
    stop: () => void child.kill(),
  };
}
