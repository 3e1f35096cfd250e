#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';

const words = process.argv.slice(2);

if (words[0] === '--version' || words[0] === '-v') {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  console.log(version);
} else if (existsSync(new URL('../dist/cli.js', import.meta.url))) {
  const { main } = await import('../dist/cli.js');
  await main(words);
} else {
  console.error('reasonix: this copy is not built yet\n  hint: run `npm run build` in its folder');
  process.exitCode = 1;
}
