import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/models/contract.ts';
import { removeFolders } from '../../src/subagents/worktree/remove.ts';
import { call, referencesIn, workshop } from '../runtime/workshop.ts';
import { repository } from './repository.ts';

const results = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message] : []));
const task = ({ messages }: ModelRequest) =>
  messages
    .flatMap((message) => (message.role === 'user' && message.origin !== 'notice' ? [message.content] : []))
    .at(-1);
const spawn = (name: string, ...tasks: string[]) => ({
  calls: tasks.map((each) => call('run_skill', { name, arguments: each })),
});

describe('a scratch folder', () => {
  it('is one for each child, writable without asking, and made when it is used (F22)', async () => {
    const shop = workshop();
    shop.skill('note', { runAs: 'subagent' }, 'Note.');
    const path = '$REASONIX_SCRATCH/context.md';
    const { runtime, model } = await shop.open((request) => {
      const seen = results(request);
      if (request.skill !== 'note') return seen.length === 0 ? spawn('note', 'red', 'blue', 'idle') : 'done';
      if (task(request) === 'idle') return 'nothing to do';
      if (seen.length === 0) return { calls: [call('write_file', { path, content: task(request) })] };
      if (seen.length === 1)
        return { calls: [call('read_file', { path }), call('list_files', { path: '$REASONIX_SCRATCH' })] };
      return seen.map(({ content }) => content).join('|');
    });
    await (await runtime.session()).send('go').result;
    const root = join(shop.home, '.reasonix/scratch');
    const folders = readdirSync(root);
    expect(folders).toHaveLength(2);
    const texts = folders.map((folder) => readFileSync(join(root, folder, 'context.md'), 'utf8'));
    expect(texts.sort()).toEqual(['blue', 'red']);
    expect(folders.map((folder) => statSync(join(root, folder)).mode & 0o777)).toEqual([0o700, 0o700]);
    const children = model.requests.filter(({ skill }) => skill === 'note');
    expect(
      results(children.find((child) => task(child) === 'red' && results(child).length === 3) as ModelRequest)[1]
        ?.content,
    ).toBe('red');
    // All siblings have the same prompt, so that a cache of theirs is one.
    expect(new Set(children.map(({ system }) => system)).size).toBe(1);
    expect(children[0]?.system).toContain('$REASONIX_SCRATCH');
    await Promise.all(folders.map((folder) => removeFolders(join(shop.home, '.reasonix'), folder)));
    expect(readdirSync(root)).toEqual([]);
  });

  it('is no way around permissions: not by its name, not by links, not for other tools', async () => {
    const shop = workshop();
    shop.skill('sly', { runAs: 'subagent' }, 'Sly.');
    const { runtime, model } = await shop.open((request) => {
      const seen = results(request);
      if (request.skill !== 'sly') return seen.length === 0 ? spawn('sly', 'go') : 'done';
      if (seen.length === 0) return { calls: [call('write_file', { path: '$REASONIX_SCRATCH/ok', content: 'x' })] };
      const scratch = join(shop.home, '.reasonix/scratch', request.session);
      if (seen.length === 1) {
        symlinkSync(shop.cwd, join(scratch, 'out'));
        return {
          calls: [
            '$REASONIX_SCRATCH/../../escape',
            '$REASONIX_SCRATCH/out/linked',
            '$REASONIX_SCRATCHED/x',
            'plain',
            join(scratch, 'absolute'),
          ].map((path) => call('write_file', { path, content: 'x' })),
        };
      }
      return 'done';
    });
    await (await runtime.session()).send('go').result;
    const child = model.requests.filter(({ skill }) => skill === 'sly').at(-1) as ModelRequest;
    const [, ...outcomes] = results(child);
    expect(outcomes.map(({ isError }) => isError)).toEqual([true, true, true, true, false]);
    expect(existsSync(join(shop.cwd, 'linked'))).toBe(false);
    expect(existsSync(join(shop.home, '.reasonix/escape'))).toBe(false);
    // A root has none.
    expect(model.requests[0]?.system).not.toContain('REASONIX_SCRATCH');
  });

  it('is named only where something can be put into it', async () => {
    const shop = workshop();
    shop.skill('reader', { runAs: 'subagent', 'read-only': true }, 'Read.');
    const { runtime, model } = await shop.open((request) =>
      request.skill === 'reader' ? 'read' : results(request).length === 0 ? spawn('reader', 'go') : 'done',
    );
    await (await runtime.session()).send('go').result;
    expect(model.requests.find(({ skill }) => skill === 'reader')?.system).not.toContain('REASONIX_SCRATCH');
    expect(existsSync(join(shop.home, '.reasonix/scratch'))).toBe(false);
  });

  it('is TMPDIR of commands, and keys do not reach them, whatever they are called (G07)', async () => {
    const shop = workshop();
    shop.skill('env', { runAs: 'subagent' }, 'Env.');
    shop.write(
      'reasonix.toml',
      '[[providers]]\nname = "own"\nkind = "openai"\nmodels = ["m"]\napi_key_env = "OWN_PROVIDER"\n[tools]\nkeep_env = ["KEPT_TOKEN"]\n',
    );
    const saved = { ...process.env };
    Object.assign(process.env, {
      OWN_PROVIDER: 'key-of-the-provider',
      COPY_OF_IT: 'Bearer key-of-the-provider',
      OPENAI_API_KEY: 'another-key',
      KEPT_TOKEN: 'kept-on-purpose',
      PLAIN: 'plain',
    });
    try {
      const env = { calls: [call('shell', { command: 'env; mktemp' })] };
      const { runtime, model } = await shop.open(
        (request) => {
          const seen = results(request);
          if (request.skill === 'env') return seen.length === 0 ? env : 'done';
          return seen.length === 0 ? env : seen.length === 1 ? spawn('env', 'go') : 'done';
        },
        { yes: true, env: { OWN_PROVIDER: 'key-of-the-provider' } },
      );
      await (await runtime.session()).send('go').result;
      const [ofRoot, ofChild] = [undefined, 'env'].map(
        (skill) =>
          results(model.requests.filter((request) => request.skill === skill).at(-1) as ModelRequest)[0]?.content ?? '',
      ) as [string, string];
      for (const text of [ofRoot, ofChild]) {
        expect(text).toContain('PLAIN=plain');
        expect(text).toContain('KEPT_TOKEN=');
        expect(text).not.toMatch(/OWN_PROVIDER|COPY_OF_IT|OPENAI_API_KEY|another-key|key-of-the-provider/);
      }
      expect(ofRoot).not.toContain('REASONIX_SCRATCH');
      const scratch = join(shop.home, '.reasonix/scratch');
      expect(ofChild).toMatch(new RegExp(`REASONIX_SCRATCH=${scratch}/sa_\\w+\n`));
      expect(ofChild).toMatch(new RegExp(`\n${scratch}/sa_\\w+/tmp\\.`));
    } finally {
      process.env = saved;
    }
  });

  it('costs 200 children nothing', async () => {
    const shop = workshop();
    shop.skill('many', { runAs: 'subagent' }, 'Many.');
    const { runtime } = await shop.open(
      (request) =>
        request.skill === 'many'
          ? 'done'
          : results(request).length === 0
            ? spawn('many', ...Array.from({ length: 200 }, (_, index) => `${index}`))
            : 'done',
      { overrides: ['agent.max_spawns=200', 'agent.max_concurrent=50'] },
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run.subagents).toHaveLength(200);
    expect(existsSync(join(shop.home, '.reasonix/scratch'))).toBe(false);
  });
});

/** A workshop whose project is a repository with a skill that works in a worktree. */
function isolated(
  files: Record<string, string> = { 'a.txt': 'one\ntwo\nthree\n' },
  header: Record<string, unknown> = {},
) {
  const shop = workshop();
  shop.skill('fix', { runAs: 'subagent', isolation: 'worktree', ...header }, 'Fix.');
  const repo = repository(files, shop.cwd);
  const worktrees = join(shop.home, '.reasonix/worktrees');
  /** Its folder: there is one. */
  const worktreeOf = (reference: string) => {
    const made = readdirSync(join(worktrees, reference));
    expect(made).toHaveLength(1);
    return join(worktrees, reference, ...made);
  };
  return { ...shop, repo, worktrees, worktreeOf, text: (name: string) => readFileSync(join(shop.cwd, name), 'utf8') };
}

const write = (path: string, content: string) => ({ calls: [call('write_file', { path, content })] });
const open = { yes: true, env: {} };

// Git runs many times in each, which takes long on a busy machine.
describe('isolation: worktree', { timeout: 120_000 }, () => {
  it('keeps what a child changes apart until it is applied', async () => {
    const shop = isolated();
    shop.repo.write('draft.txt', 'not committed\n');
    const { runtime, model } = await shop.open((request) => {
      const seen = results(request);
      if (request.skill === 'fix') {
        if (seen.length === 0)
          return {
            calls: [
              call('read_file', { path: 'draft.txt' }),
              ...write('sub/new.txt', 'new\n').calls,
              ...write('a.txt', 'ONE\ntwo\nthree\n').calls,
            ],
          };
        return 'fixed it';
      }
      if (seen.length === 0) return spawn('fix', 'fix it');
      const [reference = ''] = referencesIn(request.messages);
      if (seen.length === 1) {
        expect(shop.text('a.txt')).toBe('one\ntwo\nthree\n');
        return { calls: [call('apply_diff', { ref: reference })] };
      }
      if (seen.length === 2)
        return { calls: [call('apply_diff', { ref: reference }), call('read_result', { id: `${reference}.diff` })] };
      return 'done';
    }, open);
    await (await runtime.session()).send('go').result;
    const parent = results(model.requests.at(-1) as ModelRequest);
    const child = model.requests.filter(({ skill }) => skill === 'fix').at(-1) as ModelRequest;
    expect(results(child)[0]?.content).toBe('not committed\n');
    const [reference = ''] = referencesIn(model.requests.at(-1)?.messages ?? []);
    expect(child.system).toContain(join(shop.worktrees, reference));
    expect(parent[0]?.content).toMatch(
      /^Subagent reference: .*\n\nfixed it\n\nChanges in its worktree, which you do not have yet:\n a\.txt +\| 2 \+-\n sub\/new\.txt \| 1 \+\n 2 files changed/s,
    );
    expect(parent[0]?.content).toContain(`apply_diff {"ref":"${reference}"}`);
    expect(parent[0]?.content).toContain('\n-one\n+ONE\n');
    expect(parent[1]).toMatchObject({
      isError: false,
      content: expect.stringContaining(`Applied the changes of ${reference} in ${shop.cwd}`),
    });
    expect(parent[2]).toMatchObject({
      isError: false,
      content: expect.stringMatching(/^Nothing to do: .* were applied already, 20/),
    });
    expect(parent[3]?.content).toMatch(/^diff --git a\/a\.txt/);
    expect([shop.text('a.txt'), shop.text('sub/new.txt')]).toEqual(['ONE\ntwo\nthree\n', 'new\n']);
    expect(readdirSync(shop.worktrees)).toEqual([]);
    expect(shop.repo.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(shop.repo.git('branch', '--list')).toBe('* main');
  });

  it('drops changes, says what to do about a conflict, and lets go of a worktree without changes', async () => {
    const shop = isolated();
    const { runtime, model } = await shop.open((request) => {
      const seen = results(request);
      if (request.skill === 'fix') {
        const what = task(request) ?? '';
        if (what === 'idle') return 'nothing';
        return seen.length === 0 ? write('a.txt', `${what}\n`) : 'done';
      }
      if (seen.length === 0) return spawn('fix', 'clash', 'dropped', 'idle');
      const [clash = '', dropped = ''] = referencesIn(request.messages);
      if (seen.length === 3) {
        shop.repo.write('a.txt', 'mine\n');
        return {
          calls: [
            call('apply_diff', { ref: clash }),
            call('apply_diff', { ref: dropped, discard: true }),
            call('apply_diff', { ref: clash.replace(/..$/, 'zz') }),
          ],
        };
      }
      return 'done';
    }, open);
    await (await runtime.session()).send('go').result;
    const [, , idle, conflict, discarded, unknown] = results(model.requests.at(-1) as ModelRequest);
    expect(idle?.content).toMatch(/nothing\n\nIt changed no files in its worktree\.$/);
    expect(conflict).toMatchObject({
      isError: true,
      content: expect.stringContaining('Nothing was applied: these changes conflict with what is there now in a.txt.'),
    });
    expect(discarded).toMatchObject({ isError: false, content: expect.stringMatching(/^Dropped the changes of sa_/) });
    expect(unknown?.isError).toBe(true);
    expect(shop.text('a.txt')).toBe('mine\n');
    // What conflicts is kept: the child can go on with it.
    expect(readdirSync(shop.worktrees)).toHaveLength(1);
  });

  it('keeps a worktree with repositories inside, which no diff has, until they are gone or dropped', async () => {
    const shop = isolated();
    shop.repo.write('.gitmodules', '[submodule "sm"]\n\tpath = sm\n\turl = ./sm\n');
    mkdirSync(join(shop.repo.top, 'sm'));
    const inner = repository({ s: 's\n' }, join(shop.repo.top, 'sm'));
    shop.repo.git('-c', 'advice.addEmbeddedRepo=false', 'add', '-A');
    shop.repo.git('commit', '-qm', 'with a submodule');
    const { runtime } = await shop.open((request) => {
      const seen = results(request);
      if (request.skill === 'fix') {
        const command = task(request) ?? '';
        return request.messages.at(-1)?.role === 'tool' ? 'done' : { calls: [call('shell', { command })] };
      }
      return seen.length === 0
        ? spawn(
            'fix',
            'git init -q made && echo x > made/x',
            `git clone -q '${inner.top}' sm && echo s >> sm/s`,
            `git clone -q '${inner.top}' sm`,
          )
        : seen.map(({ content }) => content).join('\n===\n');
    }, open);
    const { answer, subagents } = await (await runtime.session()).send('go').result;
    const [made, changed, unchanged] = answer.split('\n===\n');
    expect(made).toMatch(/These repositories in its worktree are in no diff, and stay there: made\./);
    expect(changed).toMatch(/are in no diff, and stay there: sm\./);
    expect(unchanged).toMatch(/It changed no files in its worktree\.$/);
    expect(readdirSync(shop.worktrees)).toHaveLength(2);
    const ref = /sa_\w+/.exec(made ?? '')?.[0] ?? '';
    expect(subagents.map((child) => child.ref)).toContain(ref);
    await expect(runtime.applyChanges(ref)).rejects.toThrow(/would be lost: made/);
    const moved = await (await runtime.session({ resume: ref })).send('mv made/x x && rm -rf made').result;
    expect(moved.status).toBe('completed');
    expect(await runtime.applyChanges(ref)).toMatchObject({ how: 'applied' });
    expect(shop.text('x')).toBe('x\n');
  });

  it('goes on where it was: in its worktree, in one made again, or in a new one after it was applied', async () => {
    const shop = isolated();
    const script = (request: ModelRequest) => {
      if (request.skill !== 'fix') return 'unused';
      const what = task(request) ?? '';
      const last = request.messages.at(-1);
      return last?.role === 'tool' ? last.content : { calls: [call('shell', { command: what })] };
    };
    const { runtime } = await shop.open(script, open);
    const first = await runtime.skill('fix').run('echo 1 >> log.txt; cat log.txt; pwd');
    const folder = shop.worktreeOf(first.ref);
    expect(first.answer).toContain(`1\n${folder}`);
    const second = await first.continue('echo 2 >> log.txt; cat log.txt');
    expect(second.answer).toContain('1\n2\n');
    rmSync(folder, { recursive: true });
    const third = await second.continue('echo 3 >> log.txt; cat log.txt');
    expect(third.answer).toContain('1\n2\n3\n');
    expect(await runtime.applyChanges(first.ref)).toMatchObject({ how: 'applied', isNew: true, files: 1 });
    expect(shop.text('log.txt')).toBe('1\n2\n3\n');
    shop.repo.write('log.txt', 'mine\n');
    const fourth = await third.continue('cat log.txt; echo 4 > more.txt');
    expect(fourth.answer).toContain('mine');
    const messages = (await runtime.store.read(first.ref)).flatMap((event) =>
      event.type === 'user.message' ? [event.content] : [],
    );
    expect(messages.filter((text) => text.startsWith('Your worktree was made anew'))).toHaveLength(1);
    expect(await runtime.applyChanges(first.ref, { discard: true })).toMatchObject({ how: 'discarded', isNew: true });
    expect(existsSync(join(shop.cwd, 'more.txt'))).toBe(false);
  });

  it('is made again by one process at a time, and by nobody beside whoever has the child', async () => {
    const shop = isolated();
    const script = (request: ModelRequest) =>
      request.messages.at(-1)?.role === 'tool' ? 'done' : { calls: [call('shell', { command: 'echo 1 >> log.txt' })] };
    const { runtime } = await shop.open(script, open);
    const { ref } = await runtime.skill('fix').run('go');
    const folder = shop.worktreeOf(ref);
    rmSync(folder, { recursive: true });
    const lease = await runtime.store.claim(ref, 'somebody else', 60_000);
    await expect(runtime.session({ resume: ref })).rejects.toMatchObject({ code: 'session_busy' });
    expect(existsSync(folder)).toBe(false);
    await runtime.store.release(lease);
    const { runtime: other } = await shop.open(script, open);
    const opened = await Promise.allSettled([runtime, other].map((each) => each.session({ resume: ref })));
    for (const each of opened)
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'session_busy' });
    expect(opened.map(({ status }) => status)).toContain('fulfilled');
    expect(readFileSync(join(folder, 'log.txt'), 'utf8')).toBe('1\n');
  });

  it('is copied with a fork, and the source stays as it is', async () => {
    const shop = isolated();
    const { runtime, model } = await shop.open((request) => {
      const seen = results(request);
      if (request.skill === 'fix') {
        const last = request.messages.at(-1);
        return last?.role === 'tool' ? 'done' : write(`${task(request)}.txt`, 'x');
      }
      const [source = ''] = referencesIn(request.messages);
      if (seen.length === 0) return spawn('fix', 'first');
      if (seen.length === 1)
        return { calls: [call('run_skill', { name: 'fix', arguments: 'second', fork_from: source })] };
      return 'done';
    }, open);
    await (await runtime.session()).send('go').result;
    const [source = '', copy = ''] = referencesIn(model.requests.at(-1)?.messages ?? []);
    const files = (reference: string) =>
      readdirSync(shop.worktreeOf(reference)).filter((name) => /^(first|second)/.test(name));
    expect([files(source), files(copy)]).toEqual([['first.txt'], ['first.txt', 'second.txt']]);
    await runtime.applyChanges(copy);
    expect(existsSync(join(shop.cwd, 'second.txt'))).toBe(true);
    // The same change twice is no conflict.
    expect(await runtime.applyChanges(source)).toMatchObject({ how: 'applied' });
  });

  it('can be nested: a child of it works there, or has one of its own that is applied there', async () => {
    const shop = isolated();
    shop.skill('helper', { runAs: 'subagent' }, 'Help.');
    shop.skill('deep', { runAs: 'subagent', isolation: 'worktree' }, 'Deep.');
    shop.repo.git('add', '-A');
    shop.repo.git('commit', '-qm', 'skills');
    const { runtime } = await shop.open((request) => {
      const seen = results(request);
      const references = referencesIn(request.messages);
      if (request.skill === 'helper') return seen.length === 0 ? write('helped.txt', 'h\n') : 'helped';
      if (request.skill === 'deep') return seen.length === 0 ? write('a.txt', 'deep\n') : 'went deep';
      if (request.skill === 'fix') {
        if (seen.length === 0) return spawn('helper', 'help');
        if (seen.length === 1) return spawn('deep', 'go');
        if (seen.length === 2) return { calls: [call('apply_diff', { ref: references[1] })] };
        return seen.at(-1)?.content ?? '';
      }
      return 'unused';
    }, open);
    const run = await runtime.skill('fix').run('go');
    expect(run.answer).toContain('Applied the changes of');
    expect([shop.text('a.txt'), existsSync(join(shop.cwd, 'helped.txt'))]).toEqual(['one\ntwo\nthree\n', false]);
    await runtime.applyChanges(run.ref);
    expect([shop.text('a.txt'), shop.text('helped.txt')]).toEqual(['deep\n', 'h\n']);
  });

  it('refuses in words where there is no repository', async () => {
    const shop = workshop();
    shop.skill('fix', { runAs: 'subagent', isolation: 'worktree' }, 'Fix.');
    const { runtime, model } = await shop.open(
      (request) => (results(request).length === 0 ? spawn('fix', 'go') : 'done'),
      open,
    );
    const run = await (await runtime.session()).send('go').result;
    expect(results(model.requests.at(-1) as ModelRequest)[0]).toMatchObject({
      isError: true,
      content: expect.stringMatching(
        /is in no git repository, so there can be no worktree\. Run a skill without isolation/,
      ),
    });
    expect(run.subagents).toEqual([]);
    expect(existsSync(join(shop.home, '.reasonix/worktrees'))).toBe(false);
  });

  it('offers apply_diff only where a skill asks for a worktree, and asks before it runs', async () => {
    const plain = workshop();
    const without = await plain.open(() => 'done');
    await (await without.runtime.session()).send('go').result;
    expect(without.model.requests[0]?.tools.map(({ name }) => name)).not.toContain('apply_diff');
    const shop = isolated();
    const asked: string[] = [];
    const { runtime, model } = await shop.open(
      (request) => {
        const seen = results(request);
        if (request.skill === 'fix') return seen.length === 0 ? write('a.txt', 'x\n') : 'done';
        if (seen.length === 0) return spawn('fix', 'go');
        return seen.length === 1 ? { calls: [call('apply_diff', { ref: referencesIn(request.messages)[0] })] } : 'done';
      },
      {
        env: {},
        approve: async ({ tool, subject, path }) => {
          asked.push(`${path.join('/')} ${tool}(${subject.replace(/sa_\w+/, 'sa_')})`);
          return tool === 'write_file' ? 'once' : 'no';
        },
      },
    );
    await (await runtime.session()).send('go').result;
    expect(asked).toEqual(['fix write_file(a.txt)', ' apply_diff(sa_)']);
    expect(results(model.requests.at(-1) as ModelRequest)[1]?.content).toMatch(
      /^Not allowed: apply_diff\(sa_\w+\): the user said no/,
    );
    expect(shop.text('a.txt')).toBe('one\ntwo\nthree\n');
  });

  it('finds skills, their files and instructions from its own folder, two at once (F31)', async () => {
    const shop = isolated(
      { 'pkg/x.txt': 'x\n', 'AGENTS.md': 'root\n', 'pkg/AGENTS.md': 'Speak like a pirate.\n' },
      { inherit: 'instructions' },
    );
    shop.write('.reasonix/skills/fix/scripts/x.sh', 'echo script\n');
    shop.skill('inside', {}, 'Inside.');
    shop.repo.git('add', '-A');
    shop.repo.git('commit', '-qm', 'skills');
    const before = process.cwd();
    const { runtime, model } = await shop.open(
      (request) => {
        const seen = results(request);
        if (request.skill !== 'fix') return seen.length === 0 ? spawn('fix', 'a', 'b') : 'done';
        if (seen.length === 0) {
          const script =
            /Base folder: (.+?) · files/.exec(request.system)?.[1] ??
            /(\/\S+\/skills\/fix)/.exec(request.system)?.[1] ??
            '';
          return {
            calls: [
              call('read_file', { path: join(script, 'scripts/x.sh') }),
              call('shell', { command: 'pwd; echo mark > mark.txt' }),
              call('read_skill', { name: 'inside' }),
            ],
          };
        }
        return 'done';
      },
      { ...open, cwd: join(shop.cwd, 'pkg') },
    );
    await (await runtime.session()).send('go').result;
    expect(process.cwd()).toBe(before);
    const children = model.requests.filter((request) => request.skill === 'fix' && results(request).length === 3);
    expect(children).toHaveLength(2);
    for (const child of children) {
      const folder = join(shop.worktreeOf(child.session), 'pkg');
      expect(child.system).toContain(folder);
      expect(child.system).toContain('Speak like a pirate.');
      expect(child.system).toContain(join(shop.cwd, '.reasonix/skills/fix'));
      const [script, pwd, skill] = results(child);
      expect(script?.content).toBe('echo script\n');
      expect(pwd?.content).toContain(`${folder}\n`);
      expect(readFileSync(join(folder, 'mark.txt'), 'utf8')).toBe('mark\n');
      expect(skill?.content).toContain(join(shop.worktreeOf(child.session), '.reasonix/skills/inside'));
    }
  });

  it('is found again after a crash between its making and its end', async () => {
    const shop = isolated();
    let crashed = false;
    const options = { ...open, reasonixHome: join(shop.home, '.reasonix') };
    const script = (request: ModelRequest) => {
      const seen = results(request);
      if (request.skill === 'fix')
        return seen.length === 0 ? write('a.txt', 'kept\n') : crashed ? 'done' : new Promise<never>(() => {});
      return seen.length === 0 ? spawn('fix', 'go') : 'done';
    };
    const first = await shop.open(script, options);
    const session = await first.runtime.session();
    const stop = new AbortController();
    const cut = session.send('go', { signal: stop.signal });
    for await (const seen of cut) {
      if (seen.kind === 'event' && seen.event.type === 'tool.result' && seen.event.name === 'write_file') break;
    }
    // As a crash leaves it: the logs end here.
    const logs = new Map<string, Awaited<ReturnType<typeof first.runtime.store.read>>>();
    const reference = basename(readdirSync(shop.worktrees)[0] ?? '');
    for (const id of [session.id, reference]) logs.set(id, await first.runtime.store.read(id));
    stop.abort();
    await cut.result;
    const { memoryStore } = await import('../../src/store/memory.ts');
    const store = memoryStore();
    for (const [id, events] of logs)
      await store.append(
        id,
        0,
        events.map(({ seq: _seq, at: _at, ...event }) => event as never),
      );
    crashed = true;
    const second = await shop.open(script, { ...options, store });
    const result = await (await second.runtime.session({ resume: session.id })).resume().result;
    expect(result.status).toBe('completed');
    expect(readdirSync(shop.worktrees)).toEqual([reference]);
    const last = second.model.requests.at(-1) as ModelRequest;
    expect(results(last)[0]?.content).toMatch(/\+kept/);
  });

  it('keeps a diff that is large or no text in a file of its own', async () => {
    const shop = isolated();
    const { runtime, model } = await shop.open((request) => {
      const seen = results(request);
      if (request.skill === 'fix')
        return seen.length === 0
          ? { calls: [call('shell', { command: "seq 1 60000 > big.txt; printf 'caf\\351\\n' > latin" })] }
          : 'done';
      return seen.length === 0 ? spawn('fix', 'go') : 'done';
    }, open);
    await (await runtime.session()).send('go').result;
    const text = results(model.requests.at(-1) as ModelRequest)[0]?.content ?? '';
    expect(Buffer.byteLength(text)).toBeLessThan(10_000);
    const [reference = ''] = referencesIn(model.requests.at(-1)?.messages ?? []);
    expect(text).toContain(`read_result {"id":"${reference}.diff"} has all of it]`);
    const file = join(shop.worktrees, `${reference}.diff`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    rmSync(join(shop.worktrees, reference), { recursive: true });
    const kept = readFileSync(file);
    writeFileSync(file, kept.subarray(0, -1));
    await expect(runtime.applyChanges(reference)).rejects.toMatchObject({
      code: 'worktree',
      message: expect.stringContaining('is gone or was changed'),
    });
    writeFileSync(file, kept);
    await runtime.applyChanges(reference);
    expect(readFileSync(join(shop.cwd, 'latin'))).toEqual(Buffer.from('caf\xe9\n', 'latin1'));
  });
});
