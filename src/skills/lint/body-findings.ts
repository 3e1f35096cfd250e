import { byteLength, clipGraphemes, oneLine } from '../../core/text.ts';
import { BODY_LIMIT } from '../body-limit.ts';
import type { Skill } from '../types.ts';
import type { Markdown } from './markdown.ts';
import { counted, type Finding } from './problem.ts';

/** What the specification recommends to stay below. */
const MOST_LINES = 500;
const MOST_TOKENS = 5_000;
const CHARACTERS_PER_TOKEN = 4;

export function sizeFindings(body: string): Finding[] {
  if (body.trim() === '') return [{ severity: 'warning', code: 'body-empty', message: 'the body is empty' }];
  const bytes = byteLength(body);
  if (bytes > BODY_LIMIT) {
    const message = `the body has ${bytes} bytes; only the first ${BODY_LIMIT} are loaded at once: move parts to references/`;
    return [{ severity: 'warning', code: 'body-long', message }];
  }
  const lines = body.trimEnd().split(/\r\n|\n|\r/).length;
  const tokens = Math.round(body.length / CHARACTERS_PER_TOKEN);
  if (lines <= MOST_LINES && tokens <= MOST_TOKENS) return [];
  const message = `the body has ${lines} lines, about ${tokens} tokens; the specification recommends at most ${MOST_LINES} and ${MOST_TOKENS}: move parts to references/`;
  return [{ severity: 'info', code: 'body-long', message }];
}

/** A rendered page hides comments, a model reads them. Honest files have many, so it is no more than a word. */
export function commentFindings({ comments }: Markdown, lineOf: (offset: number) => number): Finding[] {
  const [first] = comments.filter(({ text }) => text.trim() !== '');
  if (first === undefined) return [];
  const what = comments.length === 1 ? 'an HTML comment' : counted(comments.length, 'HTML comment');
  const excerpt = JSON.stringify(clipGraphemes(oneLine(first.text), 60));
  const message = `${what}, which models read and rendered pages hide: ${excerpt}`;
  return [{ severity: 'info', code: 'html-comment', line: lineOf(first.offset), message }];
}

const PLACEHOLDER = /\\?<<([A-Za-z_][\w-]{0,40})>>/g;

/**
 * `<<name>>` outside of code that nothing declares. Only where the author uses arguments: elsewhere
 * double angle brackets mean many other things.
 */
export function placeholderFindings(skill: Skill, { prose }: Markdown, lineOf: (offset: number) => number): Finding[] {
  const declared = new Set([...skill.argumentNames, 'arguments', 'ARGUMENTS']);
  const found = [...prose.matchAll(PLACEHOLDER)].filter(([whole]) => !whole.startsWith('\\'));
  const usesArguments =
    skill.argumentNames.length > 0 || skill.argumentHint !== undefined || found.some(([, name]) => declared.has(name!));
  if (!usesArguments) return [];
  const seen = new Set<string>();
  return found.flatMap(({ 0: whole, 1: name = '', index }) => {
    if (declared.has(name) || seen.has(name)) return [];
    seen.add(name);
    const message = `${whole} is not filled: declare ${name} under arguments, or write \\${whole} to show it as it is`;
    return [{ severity: 'warning' as const, code: 'placeholder-unknown', line: lineOf(index), message }];
  });
}
