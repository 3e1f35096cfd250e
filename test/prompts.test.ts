import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot, problemPrompt, prompt } from '../src/core/prompts.ts';

/**
 * Most bytes of each text, slots included. They are tight on purpose: what is sent with every request,
 * or with every result, is paid for every time. Raise one only for a reason.
 */
const CAPS: Readonly<Record<string, number>> = {
  'already-loaded': 110,
  'answer-clipped': 110,
  'answer-clipped-for-good': 65,
  'argument-hint': 30,
  'arguments-line': 30,
  'arguments-not-json': 110,
  'arguments-too-long': 60,
  'arguments-unfit': 100,
  'base-folder': 30,
  'base-folder-files': 100,
  'body-changed': 120,
  'body-clipped': 140,
  'call-cut-off': 140,
  'cancelled-by-parent': 30,
  'child-folder': 25,
  'child-runtime': 90,
  'child-scratch': 65,
  clipped: 130,
  'clipped-for-good': 75,
  compacted: 170,
  'compacted-children': 45,
  'compacted-part': 110,
  'compacted-part-for-good': 35,
  'compacted-result': 80,
  'compacted-result-for-good': 25,
  'compacted-skills': 70,
  'compacted-steps': 120,
  compaction: 500,
  'compaction-record': 70,
  'continue-or-fork': 140,
  'depth-limit': 120,
  'empty-body': 100,
  'empty-message': 30,
  'hook-after': 40,
  'hook-blocked': 55,
  'hook-held': 55,
  'image-left-out': 60,
  'images-not-shown': 130,
  'images-of-results': 60,
  'inline-no-thread': 150,
  input: 110,
  inputs: 120,
  installed: 50,
  'installed-later': 100,
  'instructions-clipped': 80,
  'interrupted-call': 50,
  'interrupted-write': 90,
  'item-empty': 25,
  'item-not-started': 55,
  'item-result': 60,
  'items-alone': 100,
  'items-count': 100,
  'items-inline': 110,
  'items-result': 155,
  'limit-reached': 190,
  'mcp-left-out': 50,
  'mcp-no-reason': 40,
  'message-late': 120,
  'message-sent': 60,
  'missing-tools': 110,
  'model-changed': 95,
  'model-invocation-off': 120,
  'more-subagents': 70,
  'no-background': 50,
  'no-subagents': 50,
  'no-task': 150,
  'not-allowed': 160,
  'not-forked': 140,
  'nudge-empty': 130,
  'output-long': 45,
  'output-no-json': 30,
  'output-repair': 170,
  'output-schema': 140,
  'output-several': 60,
  'parent-ended': 60,
  preload: 50,
  'preload-left-out': 120,
  'preload-unknown': 110,
  problems: 6450,
  'project-instructions': 70,
  'read-subagent-skill': 130,
  'outside-busy': 110,
  'outside-cut': 160,
  'outside-instructions': 210,
  'outside-subagents': 115,
  'outside-unasked': 200,
  'reference-busy': 110,
  'reference-elsewhere': 125,
  'reference-foreign': 140,
  'reference-no-answer': 120,
  'reference-skill': 180,
  'reference-unknown': 160,
  'required-injected': 180,
  'required-nudge': 220,
  'required-unresolved': 140,
  'read-on': 35,
  restate: 140,
  'result-more': 120,
  'result-unknown': 140,
  'search-any-word': 70,
  'search-not-regex': 70,
  'shadows-line': 70,
  'skill-ambiguous': 100,
  'skill-gone': 90,
  'skill-disabled': 60,
  'skill-unknown': 80,
  'skill-unknown-search': 50,
  'skills-added': 80,
  'skills-edited': 100,
  'skills-folders': 110,
  'skills-lead': 110,
  'skills-more': 90,
  'skills-names-only': 100,
  'skills-removed': 50,
  'skills-search-first': 90,
  'skills-unknown-change': 90,
  'spawn-limit': 130,
  'spent-limit': 130,
  'stopped-call': 60,
  'subagent-cancelled': 80,
  'subagent-elsewhere': 140,
  'subagent-ended': 130,
  'subagent-result': 240,
  'subagent-running': 70,
  'subagent-started': 160,
  'subagent-why': 30,
  system: 600,
  'tool-not-there': 125,
  'tools-gone': 75,
  'tools-added': 100,
  'tools-removed': 50,
  'tools-there': 100,
  'tools/apply_diff': 150,
  'tools/call_tool': 60,
  'tools/cancel_subagent': 40,
  'tools/edit_file': 100,
  'tools/grep': 210,
  'tools/install_skill': 120,
  'tools/list_files': 110,
  'tools/list_subagents': 55,
  'tools/read_file': 110,
  'tools/read_result': 200,
  'tools/read_skill': 50,
  'tools/run_skill': 300,
  'tools/search_skills': 210,
  'tools/search_tools': 140,
  'tools/send_to_subagent': 40,
  'tools/shell': 190,
  'tools/wait_subagents': 60,
  'tools/web_fetch': 60,
  'tools/write_file': 30,
  'unknown-tool': 80,
  'worktree-applied': 70,
  'worktree-changes': 90,
  'worktree-clipped': 110,
  'worktree-closed': 80,
  'worktree-discarded': 45,
  'worktree-how': 140,
  'worktree-how-person': 110,
  'worktree-inner': 170,
  'worktree-nothing': 60,
  'worktree-renewed': 190,
  'worktree-unchanged': 45,
  'worktree-unknown': 60,
};

const folder = join(packageRoot, 'prompts');
const files = (readdirSync(folder, { recursive: true }) as string[])
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.includes('.'));
const names = files.map((file) => file.replace(/\.md$/, '')).sort();
const textOf = (name: string): string => readFileSync(join(folder, `${name}.md`), 'utf8');
const slotsOf = (name: string): string[] => [...textOf(name).matchAll(/\{\{(\w+)\}\}/g)].map(([, slot]) => slot ?? '');

const sources = (readdirSync(join(packageRoot, 'src'), { recursive: true }) as string[])
  .filter((file) => file.endsWith('.ts') && !file.endsWith(join('core', 'prompts.ts')))
  .map((file) => ({ file, code: readFileSync(join(packageRoot, 'src', file), 'utf8') }));

describe('texts for models', () => {
  it('are markdown files that this table knows', () => {
    expect(files.filter((file) => !file.endsWith('.md'))).toEqual([]);
    expect(names).toEqual(Object.keys(CAPS).sort());
  });

  it.each(Object.entries(CAPS))('%s has at most %i bytes', (name, cap) => {
    const bytes = Buffer.byteLength(textOf(name));
    expect(bytes).toBeLessThanOrEqual(cap);
    expect(bytes, 'the cap is loose: lower it').toBeGreaterThan(cap / 2);
  });

  // Problems are asked for by their own names: the last test.
  it.each(names.filter((name) => name !== 'problems'))('%s is asked for by the code', (name) => {
    const isTool = name.startsWith('tools/');
    const quoted = `'${name.replace('tools/', '')}'`;
    const users = sources.filter(({ code }) => code.includes(quoted) && (!isTool || code.includes('toolPrompt(')));
    expect(users.length).toBeGreaterThan(0);
  });

  it('are there for every name that the code asks for', () => {
    const asked = sources.flatMap(({ file, code }) =>
      [...code.matchAll(/\b(prompt|toolPrompt)\(\s*'([\w/-]+)'/g)].map(([, call, name]) => ({
        file,
        name: call === 'toolPrompt' ? `tools/${name}` : (name ?? ''),
      })),
    );
    expect(asked.length).toBeGreaterThan(40);
    expect(asked.filter(({ name }) => !names.includes(name))).toEqual([]);
  });

  it.each(names)('%s has no slot left once its slots are filled, and takes values literally', (name) => {
    const slots = Object.fromEntries(slotsOf(name).map((slot) => [slot, '$& {{other}}']));
    const filled = prompt(name, slots);
    expect(filled.replaceAll('$& {{other}}', '')).not.toMatch(/\{\{|\}\}/);
    expect(filled.split('$& {{other}}').length - 1).toBe(slotsOf(name).length);
  });

  it('name only tools that exist', () => {
    const tools = new Set(names.filter((name) => name.startsWith('tools/')).map((name) => name.slice(6)));
    const notTools = new Set([
      'continue_from',
      'fork_from',
      'inputs_from',
      'old_text',
      'new_text',
      'replace_all',
      'forbid_read',
      'sa_',
    ]);
    const words = names.flatMap((name) =>
      [...textOf(name).matchAll(/(?<![{\w@])[a-z]+_[a-z]+(?![\w}])/g)].map(([word]) => word),
    );
    expect([...new Set(words)].filter((word) => !tools.has(word) && !notTools.has(word))).toEqual([]);
  });

  it('hold a problem for every name that a tool asks for, each asked for, and one for each system error', () => {
    const held = [...textOf('problems').matchAll(/^@([\w-]+): \S/gm)].map(([, key]) => key);
    const tools = sources.filter(
      ({ file }) =>
        file.startsWith('tools') ||
        file.startsWith(join('subagents', 'worktree')) ||
        file === join('subagents', 'isolation.ts'),
    );
    const code = tools.map((source) => source.code).join('\n');
    const asked = [...code.matchAll(/\bproblem\((?:verb === 'read' \? )?'([\w-]+)'(?: : '([\w-]+)')?/g)].flatMap(
      ([, first, second]) => [first, second].filter((name) => name !== undefined),
    );
    const errors = /EXPLAINED = new Set\(\[([^\]]*)\]/.exec(code)?.[1]?.match(/\w+/g) ?? [];
    expect(errors.length).toBeGreaterThan(10);
    const wanted = [...asked, ...errors.map((error) => `file-${error.toLowerCase()}`)];
    expect([...new Set(wanted)].sort()).toEqual([...held].sort());
    expect(() => problemPrompt('nothing-like-it')).toThrow('no problem nothing-like-it');
  });
});
