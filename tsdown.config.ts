import { defineConfig } from 'tsdown';

/** One bundle with shared chunks: the library with its types, and the command line. */
export default defineConfig({
  entry: { index: 'src/index.ts', cli: 'src/cli/main.ts' },
  format: 'esm',
  platform: 'node',
  target: 'node20',
  fixedExtension: false,
  dts: { entry: 'src/index.ts' },
  clean: true,
});
