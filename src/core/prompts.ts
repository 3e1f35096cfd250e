import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Texts for models. They are files in `prompts/`, so that a reader sees all of them in one place;
 * this module reads the package's own files the way an import would.
 */

const texts = new Map<string, string>();

/** The folder of this package, found from the source tree and from the bundle alike. */
export const packageRoot: string = findPackageRoot();

function findPackageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'prompts')) || !existsSync(join(folder, 'package.json'))) {
    const above = dirname(folder);
    if (above === folder) throw new Error('the folder prompts/ of the reasonix package is missing: reinstall it');
    folder = above;
  }
  return folder;
}

function read(name: string): string {
  let text = texts.get(name);
  if (text === undefined) {
    text = readFileSync(join(packageRoot, 'prompts', `${name}.md`), 'utf8')
      .replaceAll('\r\n', '\n')
      .trimEnd();
    texts.set(name, text);
  }
  return text;
}

/**
 * The text `prompts/<name>.md` with every `{{slot}}` filled, in one pass and literally: a value that
 * looks like a slot stays as it is.
 * @throws RangeError when the text has a slot that `slots` lacks.
 */
export function prompt(name: string, slots: Record<string, string | number> = {}): string {
  return fill(name, read(name), slots);
}

function fill(name: string, text: string, slots: Record<string, string | number>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, slot: string) => {
    const value = slots[slot];
    if (value === undefined) throw new RangeError(`prompts/${name}.md wants the slot ${slot}`);
    return String(value);
  });
}

let problems: ReadonlyMap<string, string> | undefined;

/**
 * What a tool answers when it cannot do what was asked: the line `@name: text` of `prompts/problems.md`,
 * in which `\\n` is a line end. @throws RangeError for a name that is not there.
 */
export function problemPrompt(name: string, slots: Record<string, string | number> = {}): string {
  problems ??= new Map(
    [...read('problems').matchAll(/^@([\w-]+): (.*)$/gm)].map(([, key = '', text = '']) => [key, text]),
  );
  const text = problems.get(name);
  if (text === undefined) throw new RangeError(`prompts/problems.md has no problem ${name}`);
  return fill('problems', text.replaceAll('\\n', '\n'), slots);
}

/**
 * The description of a tool and of its parameters: `prompts/tools/<name>.md` holds the description,
 * then a line `@parameter: text` for each parameter that its name does not explain.
 */
export function toolPrompt(
  name: string,
  slots: Record<string, string | number> = {},
): { description: string; parameters: Record<string, string> } {
  const parameters: Record<string, string> = {};
  const description: string[] = [];
  for (const line of prompt(`tools/${name}`, slots).split('\n')) {
    const match = /^@(\w+): (.*)$/.exec(line);
    if (match?.[1] && match[2] !== undefined) parameters[match[1]] = match[2];
    else description.push(line);
  }
  return { description: description.join('\n').trim(), parameters };
}
