import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { staticImports } from '../../scripts/static-imports.ts';

/**
 * Programs of tests: Node 20 does not run TypeScript, and a start that opens the hundreds of files of our
 * packages takes twice the processor time. So an entry is bundled with them, and kept under `node_modules/`,
 * where what stays outside resolves from, for as long as no file that it may come from changes.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, 'node_modules/.cache/spawn-ts');
/** Bundles of other states of the sources are removed when nobody has used them for this long. */
const UNUSED_AFTER = 3_600_000;
/** Packages that look for files of theirs beside their own. */
const OUTSIDE = /^(@photostructure\/sqlite|@vscode\/ripgrep)(\/|$)/;

const bundles = new Map<string, Promise<string>>();
let state: string | undefined;

/**
 * Bundles the TypeScript or JavaScript file `entry` (a path or a `file:` URL), unless it was; returns the path of the `.mjs`.
 * `alone` makes one file of it, and packages stay imports.
 */
export function bundleTs(entry: string | URL, { alone = false } = {}): Promise<string> {
  const path = typeof entry === 'string' ? entry : fileURLToPath(entry);
  const name = `${relative(ROOT, path).replaceAll(/\W+/g, '-')}${alone ? '-alone' : ''}`;
  let bundle = bundles.get(name);
  if (!bundle) {
    bundle = build(path, name, alone);
    bundles.set(name, bundle);
  }
  return bundle;
}

async function build(entry: string, name: string, alone: boolean): Promise<string> {
  state ??= stateOfSources();
  const ofState = join(FOLDER, state);
  const folder = join(ofState, name);
  const file = join(folder, 'main.mjs');
  await mkdir(ofState, { recursive: true });
  utimesSync(ofState, new Date(), new Date());
  if (existsSync(file)) return file;
  removeUnused(ofState);

  // An entry that waits at its top level is a chunk of its own, or what it waits for would wait for it.
  const own = staticImports(entry);
  own.delete(entry);
  const runtime = staticImports(join(ROOT, 'src/runtime/open-runtime.ts'));
  const bundle = await rolldown({
    input: { main: entry },
    platform: 'node',
    logLevel: 'silent',
    external: alone ? /^[^./]/ : OUTSIDE,
    plugins: [
      {
        // Modules find files of the package from where they lie in the source tree.
        name: 'keep-module-urls',
        transform: (code, id) =>
          code.includes('import.meta.url')
            ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
            : undefined,
      },
    ],
  });
  const draft = `${folder}.${process.pid}`;
  await bundle.write({
    format: 'esm',
    dir: draft,
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    codeSplitting: !alone && {
      includeDependenciesRecursively: false,
      groups: [
        { name: 'own', test: (id) => own.has(id), priority: 1 },
        { name: 'runtime', test: (id) => runtime.has(id) },
        { name: packageOf, test: (id) => packageOf(id) !== null },
      ],
    },
  });
  await bundle.close();
  try {
    await rename(draft, folder);
  } catch (error) {
    // Another test process was quicker with the same.
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(file)) throw error;
  }
  return file;
}

/** A name for what the sources, the tests and the packages are now. */
function stateOfSources(): string {
  const hash = createHash('sha256')
    .update(ROOT)
    .update(readFileSync(join(ROOT, 'package-lock.json')));
  const files = ['src', 'test', 'scripts'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|js|json)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  for (const file of files.filter((path) => !path.endsWith('.test.ts')).sort()) {
    hash.update(`\0${relative(ROOT, file)}\0`).update(readFileSync(file));
  }
  return hash.digest('hex').slice(0, 16);
}

/** The name of a chunk for the package that a file belongs to. */
const packageOf = (id: string): string | null =>
  /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1]?.replaceAll(/\W+/g, '-') ?? null;

function removeUnused(kept: string): void {
  for (const name of readdirSync(FOLDER)) {
    const folder = join(FOLDER, name);
    const usedAt = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (folder !== kept && usedAt < Date.now() - UNUSED_AFTER) rmSync(folder, { recursive: true, force: true });
  }
}
