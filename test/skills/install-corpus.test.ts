import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { applyInstall } from '../../src/skills/install/install.ts';
import { verifyInstalled } from '../../src/skills/install/verify.ts';
import { CORPUS, HAS_CORPUS, markdownFiles } from './corpus.ts';
import { InstallFolder } from './install-place.ts';

let folder: InstallFolder;
beforeEach(() => {
  folder = new InstallFolder();
});
afterEach(() => folder[Symbol.dispose]());

const libraries = HAS_CORPUS ? readdirSync(join(CORPUS, 'libraries')) : [];

describe.skipIf(!HAS_CORPUS)('the public library', () => {
  test.each(libraries)('%s is installed whole, and every skill of it found', { timeout: 60_000 }, async (name) => {
    const path = join(CORPUS, 'libraries', name);
    const plan = await folder.plan(path);
    await applyInstall(plan, new AbortController().signal);
    const verified = await verifyInstalled(folder.place);
    expect(verified.filter(({ status }) => status !== 'ok')).toEqual([]);
    const { skills } = await folder.open();
    const found = new Set(skills.map((skill) => skill.name));
    expect(plan.skills.filter((skill) => !found.has(skill.name))).toEqual([]);
    // every folder with a SKILL.md gave a skill, but for second ones of a name and what belongs to another skill
    const leftOut = plan.notes.flatMap((note) =>
      / left out: /.test(note) ? [note.slice(0, note.indexOf(' left out: '))] : [],
    );
    const skillFolders = plan.skills.flatMap(({ entry }) => (entry.path.endsWith('.md') ? [] : [entry.from]));
    const accounted = [...skillFolders, ...leftOut];
    const missing = markdownFiles(path)
      .filter((file) => basename(file) === 'SKILL.md')
      .map((file) => dirname(file).slice(path.length + 1))
      .filter((from) => !/(?:^|\/)(?:references|assets|scripts)\//.test(from))
      .filter((from) => !accounted.some((each) => from === each || (each !== '' && from.startsWith(`${each}/`))));
    expect(missing).toEqual([]);
  });
});
