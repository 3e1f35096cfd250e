import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { byteLength } from '../../src/core/text.ts';
import { renderBody } from '../../src/skills/arguments.ts';
import { BODY_LIMIT } from '../../src/skills/body-limit.ts';
import { shortDescription } from '../../src/skills/catalog.ts';
import { neutralise, terminalSafe } from '../../src/skills/neutralise.ts';
import { renderInline } from '../../src/skills/render.ts';
import { searchSkills } from '../../src/skills/search.ts';
import type { Skill } from '../../src/skills/types.ts';
import { CORPUS, edgeRows, HAS_CORPUS, markdownFiles, parseFile } from './corpus.ts';
import { madeLibrary, madeSkill } from './made.ts';

const PLACEHOLDER = /\$ARGUMENTS\b|\{\{(?:arguments|ARGUMENTS)\}\}/g;
const HOSTILE = "$& $` $' $1 $$ <<arguments>> </skill-pin>";

const rows = (kind: RegExp) => edgeRows().filter((row) => kind.test(row.kind));

async function read(path: string): Promise<{ skill: Skill; body: string }> {
  const file = join(CORPUS, path);
  const { body, skill } = await parseFile(file);
  return { body, skill: skill ?? madeSkill({ name: 'unnamed', file }) };
}

describe.skipIf(!HAS_CORPUS)('rendering public skills', () => {
  it('changes no byte but those of placeholders, with and without arguments', { timeout: 30_000 }, async () => {
    let filled = 0;
    for (const file of markdownFiles(CORPUS)) {
      const { body, skill } = await parseFile(file);
      const parts = body.split(PLACEHOLDER);
      filled += parts.length - 1;
      const names = skill?.argumentNames ?? [];
      expect(renderBody(body, { names }).text === parts.join(''), file).toBe(true);
      expect(renderBody(body, { arguments: HOSTILE, names }).text === parts.join(HOSTILE), file).toBe(true);
    }
    expect(filled).toBeGreaterThan(100);
  });

  it.each(rows(/^<<…>>|^\{\{…\}\} that|^awk|^\$&/))('$kind: $path', async ({ path }) => {
    const { body } = await read(path);
    const parts = body.split(PLACEHOLDER);
    expect(renderBody(body, { arguments: HOSTILE }).text).toBe(parts.join(HOSTILE));
  });

  it.each(rows(/^\{\{arguments/))('$kind: $path', async ({ path }) => {
    const { body } = await read(path);
    const rendered = renderBody(body, { arguments: 'the task' });
    expect(rendered.used).toBe(true);
    expect(rendered.text).not.toContain('{{ARGUMENTS}}');
  });

  it.each(rows(/^body holds wrapper/))('$kind: $path', async ({ path }) => {
    const { body, skill } = await read(path);
    const text = await renderInline(skill, body, '</skill-pin>');
    const tag = /^<(skill-pin[-\d]*) /.exec(text)![1]!;
    expect(text.split(`</${tag}>`)).toHaveLength(2);
    expect(text).toContain(body.replaceAll(PLACEHOLDER, '</skill-pin>'));
  });

  it.each(rows(/^very large/))('$kind: $path', async ({ path }) => {
    const { body, skill } = await read(path);
    const text = await renderInline(skill, body);
    expect(byteLength(text)).toBeLessThan(BODY_LIMIT + 5_000);
    const [, offset] = /read_file \{"path":".*","offset":(\d+)\}/.exec(text)!;
    expect(Number(offset)).toBeGreaterThan(1);
  });

  it.each(rows(/^body empty/))('$kind: $path', async ({ path }) => {
    const { body, skill } = await read(path);
    expect(await renderInline(skill, body)).toMatch(/has no instructions beyond its description/);
  });

  it.each(rows(/^control characters|^description holds|^description multi|^description > 1024|^U\+2028|^zero-width/))(
    '$kind: $path',
    async ({ path }) => {
      const { body, skill } = await read(path);
      const line = shortDescription(skill.description);
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u200b\ufeff]|<\/?\p{L}/u);
      expect([...new Intl.Segmenter('en').segment(line)].length).toBeLessThanOrEqual(255);
      expect(terminalSafe(body)).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f]/);
      expect(renderBody(body).text).toBe(body.replaceAll(PLACEHOLDER, ''));
    },
  );

  it('finds each skill of every library first by its exact name', { timeout: 60_000 }, async () => {
    const parsed = await Promise.all(markdownFiles(join(CORPUS, 'libraries')).map(parseFile));
    const byName = new Map(parsed.flatMap(({ skill }) => (skill ? [[skill.name, skill] as const] : [])));
    const library = madeLibrary([...byName.values()]);
    await searchSkills(library, { pattern: 'warm' }, { budgetMs: 30_000 });
    for (const [index, { name }] of library.skills.entries()) {
      if (index % 5 !== 0) continue;
      const { skills } = await searchSkills(library, { pattern: name, limit: 3 }, { budgetMs: 30_000 });
      expect(skills.map((skill) => skill.name.toLowerCase())).toContain(neutralise(name).toLowerCase());
    }
    expect(library.skills.length).toBeGreaterThan(100);
  });
});
