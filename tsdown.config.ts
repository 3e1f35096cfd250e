import { resolve } from 'node:path';
import { defineConfig } from 'tsdown';
import { licences } from './scripts/licences.ts';
import { staticImports } from './scripts/static-imports.ts';

/** Opening files is much of what a start costs: `skill list` needs these, and an import of the library those. */
const listing = staticImports('src/cli/commands/skill-list.ts').add(resolve('src/cli/settings-flags.ts'));
const library = staticImports('src/index.ts');
const skills = new Set(
  ['library', 'parse', 'render', 'search'].flatMap((name) => [...staticImports(`src/skills/${name}.ts`)]),
);

const common = {
  format: 'esm',
  platform: 'node',
  target: 'node20',
  fixedExtension: false,
  checks: { pluginTimings: false },
} as const;

/** One bundle with shared chunks: the library and the command line. Then the types, where those of zod stay zod's. */
export default defineConfig([
  {
    ...common,
    entry: { index: 'src/index.ts', cli: 'src/cli/main.ts' },
    dts: false,
    clean: true,
    // Hundreds of files would be opened for them. The schemas of a program's own zod work with this one.
    deps: { alwaysBundle: [/^(zod|p-queue|openai|@anthropic-ai\/sdk|execa|yaml)(\/|$)/] },
    plugins: [licences()],
    outputOptions: {
      codeSplitting: {
        groups: [
          { name: 'core', test: (id) => skills.has(id) && (listing.has(id) || library.has(id)), priority: 2 },
          { name: 'listing', test: (id) => listing.has(id), priority: 1 },
          { name: 'library', test: (id) => library.has(id) || id.includes('/node_modules/zod/') },
          ...['openai', '@anthropic-ai/sdk', 'execa', 'yaml'].map((name) => ({
            name: `package-${name.replace(/\W+/g, '-').replace(/^-/, '')}`,
            test: (id: string) => id.includes(`/node_modules/${name}/`),
          })),
        ],
      },
    },
  },
  { ...common, entry: { index: 'src/index.ts' }, dts: { emitDtsOnly: true }, clean: false },
]);
