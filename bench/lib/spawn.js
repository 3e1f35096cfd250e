// @ts-check
import { spawn } from 'node:child_process';

/**
 * Runs Node with these arguments to its end.
 * @param {readonly string[]} words
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<{ ms: number, stdout: string }>}
 */
export const runNode = (words, options) => run(process.execPath, words, options);

/**
 * @param {string} command
 * @param {readonly string[]} words
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<{ ms: number, stdout: string }>}
 */
export function run(command, words, options = {}) {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const child = spawn(command, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (part) => (stdout += part));
    child.stderr.on('data', (part) => (stderr += part));
    child.on('error', reject);
    child.on('close', (code) => {
      const ms = performance.now() - startedAt;
      if (code === 0) resolve({ ms, stdout });
      else reject(new Error(`${command} ${words.join(' ')} ended with ${code}: ${stderr.slice(-2000)}`));
    });
  });
}
