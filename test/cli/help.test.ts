import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS, GROUPS } from '../../src/cli/commands.ts';
import { commandHelp } from '../../src/cli/help.ts';
import { widthOf } from '../../src/cli/terminal.ts';
import { binary, built, Workplace } from './workplace.ts';

let place: Workplace;
beforeAll(async () => {
  await built();
  place = new Workplace();
});
afterAll(() => place.remove());

const plain = (_: string, text: string) => text;

describe('help', () => {
  test.each(COMMANDS.map((command) => [command.name, command] as const))(
    '%s shows an example and fits 40 columns',
    (name, command) => {
      const help = commandHelp(command, { columns: 40, paint: plain });
      expect(help).toMatch(/\nExamples?\n {2}reasonix /);
      expect(help.replace(/\s+/g, ' ')).toContain(`reasonix ${name}`);
      // An address cannot be broken; everything else is.
      const breakable = help.split('\n').filter((line) => line.trim().includes(' '));
      for (const line of breakable) expect(widthOf(line), line).toBeLessThanOrEqual(40);
      for (const flag of Object.keys(command.flags)) expect(help).toContain(`--${flag}`);
    },
  );

  test('a terminal narrower than 40 columns gets 40', () => {
    const [first] = COMMANDS;
    const at = (columns: number) => commandHelp(first!, { columns, paint: plain });
    expect(at(10)).toBe(at(40));
    expect(at(60)).not.toBe(at(40));
  });

  test('every command answers --help without doing anything', async () => {
    for (const name of ['run', 'skill new', 'session rm', 'config set', 'init']) {
      const { code, stdout, stderr } = await place.run([...name.split(' '), '--help']);
      expect([name, code, stderr]).toEqual([name, 0, '']);
      expect(stdout).toContain(`reasonix ${name}`);
    }
  });

  test('the overview names every command and group', async () => {
    const { code, stdout } = await place.run(['--help']);
    expect(code).toBe(0);
    for (const name of [...Object.keys(GROUPS), 'run', 'doctor', 'init', 'chat'])
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
    const group = await place.run(['skill', '--help']);
    expect(group.stdout).toContain('skill list');
    expect((await place.run(['help', 'skill', 'list'])).stdout).toContain('List every skill');
  });

  test('the help that is not asked for goes to stderr and is a usage error', async () => {
    expect(await place.run([])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Usage') });
    expect(await place.run(['session'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('session list'),
    });
  });
});

describe('wrong usage ends with 2 and names the nearest', () => {
  test.each([
    [['runn', 'x'], 'did you mean reasonix run?'],
    [['skill', 'lst'], 'did you mean reasonix skill list?'],
    [['sesion'], 'did you mean reasonix session?'],
    [['run', '--modle', 'x', 'y'], 'did you mean --model?'],
    [['skill', 'list', '--jsn'], 'did you mean --json?'],
    [['skill', 'show'], 'NAME is missing'],
    [['skill', 'show', 'a', 'b'], '"b" is one argument too many'],
    [['run', 'x', '--output', 'xml'], 'expected one of text, json, stream-json, found "xml"'],
    [['run', 'x', '--max-steps', '0'], 'expected a whole number above 0'],
    [['run', 'x', '--max-cost', 'much'], 'expected a number above 0'],
    [['run', 'x', '--timeout', 'soon'], 'expected a duration such as 90s or 5m'],
    [['run', 'x', '--model'], '--model needs a value'],
    [['run', 'x', '--model', '--yes'], 'write --model=--yes'],
    [['run', 'x', '--yes=true'], '--yes takes no value'],
    [['run', 'x', '--model', 'a', '--model', 'b'], '--model is given twice'],
    [['run', 'x', '--resume', 'a', '--continue'], '--resume and --continue do not go together'],
    [['run', 'x', '--profile', '../up'], 'the name of a profile'],
    [['Where is the parser?'], 'reasonix run "Where is the parser?"'],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await place.run(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^reasonix: /);
    expect(stderr).toContain(message);
  });
});

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  for (const flag of ['--version', '-v'])
    expect(await place.run([flag])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test('a copy that is not built says how to build it', () => {
  const copy = join(place.folder, 'copy');
  mkdirSync(join(copy, 'bin'), { recursive: true });
  cpSync(binary, join(copy, 'bin/reasonix.js'));
  cpSync(join(binary, '../../package.json'), join(copy, 'package.json'));
  const { status, stderr } = spawnSync(process.execPath, [join(copy, 'bin/reasonix.js'), 'skill', 'list'], {
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr).toContain('npm run build');
});

test('a working folder that vanished is said, not crashed on', async () => {
  const gone = join(place.folder, 'gone');
  const { code, stderr } = await place.run(['skill', 'list', '--cwd', gone]);
  expect(code).toBe(2);
  expect(stderr).toContain(`the working folder ${gone} does not exist`);
});
