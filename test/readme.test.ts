import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../src/config/cascade.ts';
import { packageRoot, prompt } from '../src/core/prompts.ts';
import { noUsage } from '../src/core/usage.ts';
import { readScript } from '../src/models/scripted-file.ts';
import { shippedMiddleware } from '../src/runtime/middleware-order.ts';
import { turnResult } from '../src/session/turn-result.ts';
import { KEY_RULES } from '../src/skills/keys.ts';
import { parseSkill } from '../src/skills/parse.ts';
import { resultText } from '../src/subagents/result-text.ts';
import { runSkillTool } from '../src/tools/run-skill.ts';
import type { SkillService } from '../src/tools/skill-service.ts';
import { built } from './cli/workplace.ts';
import { Reader } from './helpers/reader.ts';
import { readPage, type Snippet, snippetsOf } from './helpers/snippets.ts';

const { version, scripts } = JSON.parse(readPage('package.json')) as {
  version: string;
  scripts: Record<string, string>;
};
const DOCS = readdirSync(join(packageRoot, 'docs')).map((name) => `docs/${name}`);
const PAGES = ['README.md', ...DOCS.filter((page) => page.endsWith('.md')).sort()];

beforeAll(built);

describe.each(PAGES)('%s', (page) => {
  const snippets = snippetsOf(page);
  let reader: Reader;
  beforeAll(() => {
    reader = new Reader();
    for (const { file, text } of snippets) if (file !== undefined) reader.write(file, text);
  });
  afterAll(() => reader.remove());

  for (const snippet of snippets) {
    const { line, language } = snippet;
    it(`the ${language} in line ${line} runs as it is printed`, { timeout: 60_000 }, async () => {
      const check = CHECKS[language];
      if (!check) throw new Error(`${page}:${line}: nothing checks a block of "${language}"`);
      await check(snippet, reader);
    });
  }

  if (page === 'README.md') {
    it('leaves behind what it says', async () => {
      const sessions = await reader.sessions();
      expect(sessions.filter(({ status }) => status !== 'completed')).toEqual([]);
      const [todos] = sessions.filter(({ skill }) => skill === 'todos');
      const { stdout } = await reader.shell(`reasonix session show ${todos?.session} --json`);
      expect(stdout).toContain('Which of them name a ticket?');
      for (const file of ['notes/week.md', 'session.html', 'reasonix.toml']) {
        expect(existsSync(join(reader.project, file)), file).toBe(true);
      }
    });
  }

  it('links to files that exist', () => {
    const links = [...readPage(page).matchAll(/\]\(([^)#\s]+)\)/g)].map(([, link]) => link ?? '');
    for (const link of links.filter((each) => !each.includes(':'))) {
      expect(existsSync(join(packageRoot, dirname(page), link)), link).toBe(true);
    }
  });

  it('names only files of the source that exist', () => {
    const named = [...readPage(page).matchAll(/`((?:src|test|prompts|skills|examples|scripts)\/[\w./-]*)`/g)];
    for (const [, path = ''] of named) expect(existsSync(join(packageRoot, path)), path).toBe(true);
  });
});

/** What a block of each language has to stand. */
const CHECKS: Record<string, (snippet: Snippet, reader: Reader) => Promise<void>> = {
  async sh({ text }, reader) {
    if (text.startsWith('npm ')) return npmCommands(text);
    // These are read by test/deployment.test.ts.
    if (/^docker compose /m.test(text)) return;
    if (/run --continue\s+#/.test(text)) await reader.leaveCutSession();
    for (const part of /\bsa?_…/.test(text) ? text.trim().split('\n') : [text]) {
      const { code, stderr } = await reader.shell(await withReferences(part, reader));
      expect(code, stderr).toBe(0);
    }
  },
  async ts({ line, text }, reader) {
    const { outputText } = ts.transpileModule(text, { compilerOptions: { target: ts.ScriptTarget.ES2022 } });
    const { code, stdout, stderr } = await reader.node(reader.write(`line-${line}.mjs`, outputText));
    expect(code, stderr).toBe(0);
    for (const [, promised = ''] of text.matchAll(/^console\.log\(.*\);\s+\/\/ ([^,\n]+)/gm)) {
      expect(stdout.split('\n')).toContain(promised);
    }
  },
  async toml({ page, line, text }, reader) {
    const configFile = reader.write(`line-${line}.toml`, text);
    const { config } = await loadConfig({ cwd: reader.project, home: reader.home, configFile });
    expect(config, page).toBeDefined();
  },
  async md({ file, text }, reader) {
    expect(file, 'the line before says which file it is').toBeDefined();
    const path = join(reader.project, file ?? '');
    const { skill, diagnostics } = await parseSkill(text, { file: path, scope: 'project', root: '', layout: 'folder' });
    expect(diagnostics).toEqual([]);
    const { stdout } = await reader.shell('reasonix skill list --json');
    expect(JSON.parse(stdout).skills).toContainEqual(expect.objectContaining({ name: skill?.name, path }));
  },
  async jsonl({ text }) {
    const tool = runSkillTool('', {} as SkillService);
    for (const line of text.trim().split('\n')) {
      const parsed = tool.parse(line);
      expect(parsed.ok && JSON.parse(JSON.stringify(parsed.input))).toEqual(JSON.parse(line));
      expect(Object.keys((tool.parameters as { properties: object }).properties)).toEqual(
        expect.arrayContaining(Object.keys(JSON.parse(line))),
      );
    }
  },
  async json({ text }, reader) {
    const { mcpServers = {} } = JSON.parse(text) as {
      mcpServers?: Record<string, { command: string; args: string[] }>;
    };
    for (const { command, args } of Object.values(mcpServers)) {
      // Clients start it anywhere, where npx would fetch what the registry has by that name.
      expect(command).not.toBe('npx');
      const [program, ...rest] = [command, ...args].map((word) => `'${word.replace('/my/project', reader.project)}'`);
      const { code, stderr } = await reader.shell(`${[program, ...rest].join(' ')} < /dev/null`);
      expect(code, stderr).toBe(0);
    }
  },
  async yaml({ page, text }) {
    // Rules for alerts are read by test/deployment.test.ts.
    if (text.startsWith('groups:')) return;
    expect(readScript(text, page).length).toBeGreaterThan(0);
  },
  async text({ file, text }, reader) {
    if (file !== undefined) return requiredList(file, reader);
    if (text.startsWith('Subagent reference:')) return subagentResult(text);
    return excerptOfStart(text, reader);
  },
};

/** `npm ci` is what brought us here; of the others the scripts have to exist. */
function npmCommands(text: string): void {
  expect(existsSync(join(packageRoot, 'package-lock.json'))).toBe(true);
  const names = [...text.matchAll(/\bnpm (\w+)/g)].map(([, name = '']) => name);
  for (const name of names) if (name !== 'ci') expect(scripts).toHaveProperty(name);
}

/** `s_…` and `sa_…` are the reader's newest session and sub-agent. */
async function withReferences(text: string, reader: Reader): Promise<string> {
  if (!/\bsa?_…/.test(text)) return text;
  const sessions = await reader.sessions();
  const newest = (kind: string) => sessions.find((session) => session.kind === kind)?.session ?? `no ${kind}`;
  return text.replace(/\bs_…/g, newest('root')).replace(/\bsa_…/g, newest('child'));
}

async function requiredList(file: string, reader: Reader): Promise<void> {
  const { stdout } = await reader.shell('reasonix run --output json "Nothing to do."');
  const names = readFileSync(join(reader.project, file), 'utf8').match(/^[\w-]+/gm) ?? [];
  expect(names.length).toBeGreaterThan(0);
  expect(JSON.parse(stdout).required).toMatchObject({ names, nudges: 3, injected: names });
}

function subagentResult(text: string): void {
  const [, reference = ''] = /reference: (\S+)/.exec(text) ?? [];
  if (text.includes('Status: running')) {
    expect(text.trimEnd()).toBe(prompt('subagent-started', { reference, skill: 'research' }));
    return;
  }
  const usage = { ...noUsage(), input: 3000, output: 162 };
  const ended = turnResult({ status: 'completed', answer: '' }, undefined);
  const turn = { ...ended, steps: 3, usage: { own: usage, total: usage } };
  expect(resultText({ reference, skill: 'todos', turn })).toBe(text.trimEnd());
}

/** The lines are printed in this order; ids and counts of tokens differ from run to run. */
async function excerptOfStart(text: string, reader: Reader): Promise<void> {
  const place = join(reader.home, 'research');
  const example = join(packageRoot, 'examples', 'research');
  cpSync(example, place, { recursive: true, filter: (path) => path !== join(example, 'out') });
  expect(scripts.start).toBe('node examples/research/main.js');
  const { code, stdout, stderr } = await reader.node(join(example, 'main.js'), place);
  expect(code, stderr).toBe(0);
  const plain = (output: string) =>
    output
      .replace(/\b(sa?)_\w{26}/g, '$1_…')
      .replace(/\d+ tokens/g, 'N tokens')
      .split('\n')
      .map((line) => line.trimEnd());
  const printed = plain(stdout);
  for (const line of plain(text)) {
    const index = printed.indexOf(line);
    expect(index, `not printed, or not in this order: ${line}`).toBeGreaterThanOrEqual(0);
    printed.splice(0, index + 1);
  }
}

describe('README.md', () => {
  it('has its promises shown by tests that exist, by their names', () => {
    const rows = [...readPage('README.md').matchAll(/^\| .+ \| \[(test\/\S+)\]\(\1\) \| (.+) \|$/gm)];
    expect(rows.length).toBeGreaterThan(15);
    for (const [, file = '', name = ''] of rows) {
      const text = readFileSync(join(packageRoot, file), 'utf8');
      const titles = text.matchAll(/\b(?:describe|it|test)(?:\.[\w.]+)?\((?=([\s\S]{0,200}))/g);
      const isThere = [...titles].some(([, title = '']) => title.toLowerCase().includes(name.toLowerCase()));
      expect(isThere, `${file} has no test named "${name}"`).toBe(true);
    }
  });

  it('is under 250 lines', () => {
    expect(readPage('README.md').split('\n').length).toBeLessThan(250);
  });

  it('says npx reasonix, which runs this copy in its folder, without a network', () => {
    const { stdout, stderr } = spawnSync('npx', ['--offline', 'reasonix', '--version'], {
      cwd: packageRoot,
      encoding: 'utf8',
    });
    expect(stdout.trim(), stderr).toBe(version);
  });
});

it('every ts block has sound types, as the built package declares them', { timeout: 120_000 }, () => {
  const reader = new Reader();
  const blocks = PAGES.flatMap(snippetsOf).filter(({ language }) => language === 'ts');
  const files = blocks.map(({ page, line, text }) => reader.write(`${page}-${line}.mts`, text));
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    types: ['node'],
    typeRoots: [join(packageRoot, 'node_modules', '@types')],
  });
  const problems = ts
    .getPreEmitDiagnostics(program)
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
  reader.remove();
  expect(blocks.length).toBeGreaterThan(4);
  expect(problems).toEqual([]);
});

it('docs/library.md lists the shipped middleware in its order', () => {
  const [, list = ''] = /shipped ones, outermost first: (.*?)\. /.exec(readPage('docs/library.md')) ?? [];
  const chain = (lazy: boolean) =>
    shippedMiddleware({ lazy, required: {}, secrets: [], permissions: {}, listing: {}, clipping: {} } as never);
  const [catalog, lazy] = [chain(false), chain(true)].map((members) => members.map(({ name }) => name));
  const names = list.match(/(?<=`)[\w-]+(?=`)/g) ?? [];
  expect(names.filter((name) => name !== 'lazy-skills')).toEqual(catalog);
  expect(names.filter((name) => name !== 'skill-catalog')).toEqual(lazy);
});

it('docs/skills.md explains every key, and no other', () => {
  const [, table = ''] = /<!-- keys -->(.*)<!-- \/keys -->/s.exec(readPage('docs/skills.md')) ?? [];
  const first = [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/(?<=`)[\w-]+(?=`)/g) ?? [],
  );
  const mentioned = new Set(table.match(/(?<=`)[\w-]+(?=[:`])/g));
  for (const key of Object.keys(KEY_RULES)) expect(mentioned, key).toContain(key);
  for (const key of first) expect(Object.keys(KEY_RULES), key).toContain(key);
});
