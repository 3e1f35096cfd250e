import { isMap, LineCounter, parseDocument } from 'yaml';
import { ReasonixError } from '../core/errors.ts';
import { type ScriptedRule, scriptSchema } from './scripted-format.ts';

/**
 * The rules in the text of a script file. A list on the top level is a script, too.
 * @throws ReasonixError `config` with file and line.
 */
export function readScript(text: string, path: string): readonly ScriptedRule[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [broken] = document.errors;
  if (broken) throw problem(path, lines.linePos(broken.pos[0]).line, broken.message.split('\n')[0] ?? '');

  const content: unknown = document.toJS({ maxAliasCount: 100 });
  const isList = Array.isArray(content);
  const result = scriptSchema().safeParse(isList ? { rules: content } : content);
  if (result.success) return result.data.rules;
  const [issue] = result.error.issues;
  const issuePath = (issue?.path ?? []) as (string | number)[];
  const place = isList ? issuePath.slice(1) : issuePath;
  const where = issuePath.length > 0 ? `${issuePath.join('.')}: ` : '';
  throw problem(path, lineOf(document, lines, place), where + (issue?.message ?? 'not a script'));
}

function lineOf(
  document: ReturnType<typeof parseDocument>,
  lines: LineCounter,
  path: readonly (string | number)[],
): number {
  for (let length = path.length; length > 0; length--) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const pair = isMap(parent) ? parent.items.find((item) => String(item.key) === String(path[length - 1])) : undefined;
    const node = (pair?.key ?? document.getIn(path.slice(0, length), true)) as
      | { range?: [number, number, number] }
      | undefined;
    if (node?.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

const problem = (path: string, line: number, text: string): ReasonixError =>
  new ReasonixError('config', `${path}:${line}: ${text}`, { hint: 'docs/scripted-model.md shows the format' });
