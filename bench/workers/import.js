// @ts-check
/** Imports one module in a fresh process; prints how long it took, or with `--sdks` which model SDKs came along. */
import { register } from 'node:module';

const [url = '', flag] = process.argv.slice(2);
if (flag === '--sdks') {
  const hook = `import { writeSync } from 'node:fs';
    export async function load(url, context, next) {
      const sdk = /(?:node_modules\\/|dist\\/package-)@?(openai|anthropic-ai)/.exec(url)?.[1];
      if (sdk) writeSync(1, sdk + '\\n');
      return next(url, context);
    }`;
  register(`data:text/javascript,${encodeURIComponent(hook)}`);
  await import(url);
} else {
  const startedAt = performance.now();
  await import(url);
  console.log(performance.now() - startedAt);
}
