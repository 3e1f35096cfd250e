import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { packageRoot } from '../../src/core/prompts.ts';
import { BUILTIN_TOOL_NAMES } from '../../src/core/tool-names.ts';
import { keyOf } from '../../src/skills/keys.ts';
import { openLibrary } from '../../src/skills/library.ts';
import { parseSkill } from '../../src/skills/parse.ts';
import { renderChildPrompt, renderInline } from '../../src/skills/render.ts';
import type { Skill, SkillLibrary } from '../../src/skills/types.ts';
import { SkillFolder } from './folder.ts';

const READING = ['grep', 'list_files', 'read_file', 'web_fetch'];
/** Most bytes of a body: what every run of it costs. */
const CAPS = {
  'create-skill': 3_900,
  'edit-skill': 2_700,
  explore: 1_600,
  research: 1_700,
  review: 2_000,
  'security-review': 2_200,
  synthesize: 1_800,
};
const CHILDREN = ['explore', 'research', 'review', 'security-review', 'synthesize'];

let library: SkillLibrary;
const skillOf = (name: string): Skill => library.skills.find((skill) => skill.name === name)!;
const bodyOf = async (name: string): Promise<string> => (await library.load(skillOf(name))).text;

beforeAll(async () => {
  using folder = new SkillFolder();
  library = await openLibrary(folder.options({ builtins: join(packageRoot, 'skills') }));
});

describe('built-in skills', () => {
  it('are these, all parsed without a diagnostic', () => {
    expect(library.skills.map(({ name }) => name)).toEqual(Object.keys(CAPS));
    expect(library.skills.flatMap(({ diagnostics }) => diagnostics)).toEqual([]);
    expect(library.diagnostics.filter(({ path }) => path.startsWith(join(packageRoot, 'skills')))).toEqual([]);
  });

  it.each(Object.entries(CAPS))(
    '%s is described by when to use it, and its body has at most %i bytes',
    async (name, cap) => {
      const { description } = skillOf(name);
      expect(description).toMatch(/^[A-Z][^.]*\. Use when .*\.$/);
      expect(description.length).toBeLessThanOrEqual(200);
      const body = await bodyOf(name);
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(cap);
      expect(body.split('\n').length).toBeLessThanOrEqual(60);
    },
  );

  it.each(CHILDREN)('%s is a child that only reads, within limits', async (name) => {
    const { runAs, readOnly, allowedTools, limits } = skillOf(name);
    expect({ runAs, readOnly }).toEqual({ runAs: 'subagent', readOnly: true });
    const tools = allowedTools?.map(({ tool }) => tool) ?? [];
    expect(tools.length).toBeGreaterThan(0);
    expect(tools.filter((tool) => !READING.includes(tool))).toEqual([]);
    expect(limits.maxSteps).toBeLessThanOrEqual(40);
    const body = await bodyOf(name);
    expect(body).toMatch(/^## When to stop$/m);
    expect(body).toMatch(/^## What to return$/m);
    const named = BUILTIN_TOOL_NAMES.filter((tool) => body.includes(`\`${tool}\``));
    expect(named.filter((tool) => !tools.includes(tool))).toEqual([]);
    expect((await renderChildPrompt(skillOf(name), body, 'a task')).trimEnd()).toBe(body.trimEnd());
  });

  it('has only research reach the network', () => {
    const fetching = CHILDREN.filter((name) => skillOf(name).allowedTools?.some(({ tool }) => tool === 'web_fetch'));
    expect(fetching).toEqual(['research']);
  });

  it.each(['create-skill', 'edit-skill'])(
    '%s enters the conversation, with placeholders shown as they are written',
    async (name) => {
      expect(skillOf(name).runAs).toBe('inline');
      const text = await renderInline(skillOf(name), await bodyOf(name), 'a skill for changelogs');
      expect(text).toContain('`<<arguments>>`');
      expect(text).not.toContain('\\<<');
      expect(text).toMatch(/\nArguments: a skill for changelogs\n<\/skill-pin>$/);
    },
  );

  it.each(['create-skill', 'edit-skill'])('%s ends by running lint, or by asking for it', async (name) => {
    const steps = (await bodyOf(name)).match(/^\d+\. .*$/gm) ?? [];
    expect(steps.at(-1)).toMatch(/`reasonix skill lint PATH`.*`shell`|`shell`.*`reasonix skill lint PATH`/);
    expect(steps.at(-1)).toMatch(/missing or refused, ask the user to run/);
    expect(COMMANDS.find((command) => command.name === 'skill lint')?.args).toMatchObject([{ kind: 'rest' }]);
  });

  it('teach keys that exist, with an example that parses', async () => {
    const body = await bodyOf('create-skill');
    const example = /```markdown\n([\s\S]*?)```/.exec(body)?.[1] ?? '';
    const place = { file: '/s/release-notes/SKILL.md', scope: 'project', root: '/s', layout: 'folder' } as const;
    const { skill, diagnostics } = await parseSkill(example, place);
    expect(diagnostics).toEqual([]);
    expect(skill).toMatchObject({
      runAs: 'subagent',
      readOnly: true,
      argumentNames: ['tag', 'audience'],
      limits: { maxSteps: 20 },
    });

    const rows = [...body.matchAll(/^\| (`.*?) \|.*$/gm)].flatMap(([row]) => [
      ...row.matchAll(/`([a-z][A-Za-z-]+)(?=[:`])/g),
    ]);
    const keys = rows.map(([, key]) => key ?? '').filter((key) => !['inline', 'subagent'].includes(key));
    expect(keys.length).toBeGreaterThan(15);
    expect(keys.filter((key) => keyOf(key) === undefined)).toEqual([]);
  });

  it('are written out, without signs that nobody sees', () => {
    for (const name of Object.keys(CAPS)) {
      const text = readFileSync(join(packageRoot, 'skills', name, 'SKILL.md'), 'utf8');
      expect(text).not.toMatch(/TODO|FIXME|[\u200b-\u200f\u2028-\u202e\ufeff]/);
    }
  });
});
