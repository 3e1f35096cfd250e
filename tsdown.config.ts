import { defineConfig } from 'tsdown';
import { staticImports } from './scripts/static-imports.ts';

/** Opening files is most of what a start costs, so what `skill list` needs lies in one. */
const listing = staticImports('src/cli/commands/skill-list.ts');

/** One bundle with shared chunks: the library with its types, and the command line. */
export default defineConfig({
  entry: { index: 'src/index.ts', cli: 'src/cli/main.ts' },
  format: 'esm',
  platform: 'node',
  target: 'node20',
  fixedExtension: false,
  dts: { entry: 'src/index.ts' },
  clean: true,
  outputOptions: { codeSplitting: { groups: [{ name: 'listing', test: (id) => listing.has(id) }] } },
});
