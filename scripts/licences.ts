import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Emitter {
  getModuleIds(): Iterable<string>;
  emitFile(file: { type: 'asset'; fileName: string; source: string }): string;
}

/** Puts the licences of the packages that are bundled beside what they are bundled into, as they ask for. */
export const licences = () => ({
  name: 'licences',
  generateBundle(this: Emitter) {
    const folders = new Set([...this.getModuleIds()].flatMap((id) => packageFolder(id) ?? []));
    const texts = [...folders].sort().map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
      const text = file === undefined ? `License: ${license}` : readFileSync(join(folder, file), 'utf8').trim();
      return `${name} ${version}\n\n${text}\n`;
    });
    this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source: texts.join(`\n${'-'.repeat(78)}\n\n`) });
  },
});

/** The folder of the package that a module of `node_modules` belongs to. */
function packageFolder(id: string): string | undefined {
  const match = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replace(/^\0/, ''));
  const folder = match?.[1];
  return folder !== undefined && existsSync(join(folder, 'package.json')) ? folder : undefined;
}
