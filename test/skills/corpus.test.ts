import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decode } from '../../src/skills/decode.ts';
import { loadYaml, readStrictYaml } from '../../src/skills/front-matter.ts';
import { readSimpleYaml } from '../../src/skills/simple-yaml.ts';
import { CORPUS, HAS_CORPUS, markdownFiles, parseFile } from './corpus.ts';
import { SkillFolder } from './folder.ts';

const libraries = HAS_CORPUS ? readdirSync(join(CORPUS, 'libraries')) : [];
const bytesAfterFence = (text: string): string | undefined =>
  /^(?:---[ \t]*(?:\r\n|\n|\r))(?:[\s\S]*?(?:\r\n|\n|\r))??---[ \t]*(?:\r\n|\n|\r|$)([\s\S]*)$/.exec(text)?.[1];

describe.skipIf(!HAS_CORPUS)('public libraries', () => {
  it('parses every file there is, bodies byte for byte', async () => {
    let withHeader = 0;
    for (const file of markdownFiles(CORPUS)) {
      const parsed = await parseFile(file);
      const { text } = decode(readFileSync(file));
      const body = bytesAfterFence(text);
      if (parsed.bodyStart > 0 && body !== undefined) {
        withHeader++;
        expect(parsed.body, file).toBe(body);
      } else expect(text.endsWith(parsed.body), file).toBe(true);
    }
    expect(withHeader).toBeGreaterThan(1_000);
  }, 60_000);

  it.each(libraries)(
    'accounts for every skill file of %s',
    async (name) => {
      const at = new SkillFolder();
      try {
        const root = join(CORPUS, 'libraries', name);
        const library = await at.open({ paths: [root], maxDepth: 6 });
        const accounted = new Set([
          ...library.skills.map(({ file }) => file),
          ...library.skills.flatMap(({ shadows }) => shadows.map(({ path }) => path)),
          ...library.collapsed.map(({ path }) => path),
          ...library.diagnostics.map(({ path }) => path),
        ]);
        const files = markdownFiles(root).map((file) => file.slice(root.length + 1));
        const all = new Set(files);
        const lost = files.filter((file) => isExpected(file, all) && !accounted.has(join(root, file)));
        expect(lost).toEqual([]);
        const named = library.skills.length + library.skills.reduce((sum, { shadows }) => sum + shadows.length, 0);
        const same = library.collapsed.length;
        expect(library.roots.reduce((sum, { found }) => sum + found, 0)).toBe(named + same);
        for (const skill of library.skills) {
          expect(library.find(skill.name)).toMatchObject({ status: 'found', skill: { file: skill.file } });
          expect((await library.load(skill)).text).toBe((await parseFile(skill.file)).body);
        }
        const again = await at.open({ paths: [root], maxDepth: 6 });
        expect(again.skills).toEqual(library.skills);
        expect(again.fingerprint).toBe(library.fingerprint);
      } finally {
        at[Symbol.dispose]();
      }
    },
    60_000,
  );

  it('reads ordinary headers without the YAML library, and reads them alike', async () => {
    const yaml = await loadYaml();
    let simple = 0;
    let all = 0;
    for (const file of markdownFiles(join(CORPUS, 'libraries'))) {
      const header = /^---\r?\n([\s\S]*?)\r?\n---/.exec(decode(readFileSync(file)).text)?.[1]?.replaceAll('\r\n', '\n');
      if (header === undefined) continue;
      all++;
      const fields = readSimpleYaml(header);
      if (fields === undefined) continue;
      simple++;
      const strict = readStrictYaml(yaml, header).fields;
      expect(
        fields.map(({ key, value, line }) => ({ key, value, line })),
        file,
      ).toEqual(strict?.map(({ key, value, line }) => ({ key, value, line })));
    }
    expect(simple / all).toBeGreaterThan(0.8);
  });
});

/** Whether the documented rules of the scan reach a file: not below hidden or skipped folders, not inside a skill. */
function isExpected(path: string, all: ReadonlySet<string>): boolean {
  const folders = path.split('/').slice(0, -1);
  const skipped = /^\.|^(?:node_modules|bower_components|__pycache__|venv|references|scripts|assets)$/i;
  if (folders.length > 6 || folders.some((folder) => skipped.test(folder))) return false;
  const isSkill = /^skill\.md$/i.test(basename(path));
  if (!isSkill && folders.length === 6) return false;
  const own = isSkill ? folders.slice(0, -1) : folders;
  return !own.some((_, index) => all.has([...own.slice(0, index + 1), 'SKILL.md'].join('/')));
}
