// @ts-check

/**
 * The next message of a process that is asked over its channel.
 * @template Reply
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} name for the error when it ends instead
 * @returns {Promise<Reply>}
 */
export function replyOf(child, name) {
  return new Promise((resolve, reject) => {
    const died = () => reject(new Error(`${name}: its process ended`));
    child.once('exit', died);
    child.once('message', (/** @type {any} */ message) => {
      child.off('exit', died);
      resolve(message);
    });
  });
}
