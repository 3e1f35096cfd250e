import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findFrontMatter } from '../../src/skills/fence.ts';
import { processorTime } from '../helpers/processor-time.ts';

const headerAndBody = (text: string): [string | undefined, string] => {
  const { header, bodyStart } = findFrontMatter(text);
  return [header, text.slice(bodyStart)];
};

describe('findFrontMatter', () => {
  it.each([
    ['LF', '---\na: b\nc: d\n---\nBody\n', 'Body\n'],
    ['CRLF', '---\r\na: b\r\nc: d\r\n---\r\nBody\r\n', 'Body\r\n'],
    ['lone CR', '---\ra: b\rc: d\r---\rBody\r', 'Body\r'],
    ['mixed', '---\na: b\r\nc: d\n---\r\nBody\r\n', 'Body\r\n'],
    ['blanks after the dashes', '--- \t\na: b\nc: d\n---  \nBody', 'Body'],
    ['closing fence at the end of the file', '---\na: b\nc: d\n---', ''],
  ])('A03 reads the same header from %s', (_, text, body) => {
    expect(headerAndBody(text)).toEqual(['a: b\nc: d', body]);
  });

  it('A06 closes at a line that is exactly three dashes, and keeps rules and YAML in the body', () => {
    const body = '\na\n\n---\n\nb\n\n```yaml\n---\nx: 1\n---\n```\n';
    const header = 'a: 1\n----\n---x\n --- \nb: "first\n----\nsecond"';
    expect(headerAndBody(`---\n${header}\n---\n${body}`)).toEqual([header, body]);
  });

  it.each(['js', 'javascript', 'coffee', 'json', ' js'])('A05 takes "---%s" for no front matter', (language) => {
    const text = `---${language}\n{ name: 1 }\n---\nBody`;
    const fenced = findFrontMatter(text);
    expect(fenced).toMatchObject({ bodyStart: 0, notes: [{ code: 'fence-language', line: 1 }] });
    expect(fenced.header).toBeUndefined();
  });

  it.each([
    ['blank lines', '\n  \n---\na: b\n---\nBody', 3],
    ['a comment', '<!-- licence\n --- \n-->\n\n---\na: b\n---\nBody', 5],
  ])('accepts %s before the fence with a note that names the line', (_, text, line) => {
    expect(headerAndBody(text)).toEqual(['a: b', 'Body']);
    expect(findFrontMatter(text)).toMatchObject({ headerLine: line + 1, notes: [{ code: 'fence-not-first', line }] });
  });

  it('does not take dashes behind a comment for a fence', () => {
    expect(findFrontMatter('<!-- x -->---\na: b\n---\n').header).toBeUndefined();
  });

  it('never takes an unclosed file for its header, but keeps the keys that can be told apart', () => {
    const text = '---\nname: a\nallowed-tools: Read\n\n# Title\n\ntext: prose\n';
    expect(findFrontMatter(text)).toMatchObject({
      header: 'name: a\nallowed-tools: Read\n',
      bodyStart: 0,
      rescued: true,
      notes: [{ code: 'fence-unclosed' }],
    });
  });

  it.each([
    ['fence-missing', 'name: a\ndescription: b\n\n---\nBody'],
    ['fence-in-code', '```markdown\n---\nname: a\ndescription: b\n---\n```\nBody'],
    ['fence-after-text', '# Title\n\n---\nname: a\ndescription: b\n---\nBody'],
  ])('%s: keeps the keys and leaves the body whole', (code, text) => {
    const fenced = findFrontMatter(text);
    expect(fenced).toMatchObject({ bodyStart: 0, rescued: true, notes: [{ code }] });
    expect(fenced.header?.trim()).toBe('name: a\ndescription: b');
  });

  it('leaves a plain document alone', () => {
    expect(findFrontMatter('# Title\n\nText\n\n---\n\nMore: text\n')).toMatchObject({ bodyStart: 0, notes: [] });
    expect(findFrontMatter('')).toMatchObject({ bodyStart: 0, notes: [] });
  });

  it('does not split at separators that are no line ends', () => {
    expect(headerAndBody('---\na: b\u2028---\u0085---\n---\nBody')).toEqual(['a: b\u2028---\u0085---', 'Body']);
  });

  it('keeps every byte after the fence', () => {
    const text = fc.string({ unit: fc.constantFrom('-', '---', '\n', '\r', '\r\n', 'a', ' ', '#', '```', '中') });
    fc.assert(
      fc.property(text, (body) => {
        expect(headerAndBody(`---\nname: a\n---\n${body}`)).toEqual(['name: a', body]);
      }),
    );
  });

  it('stays fast on hostile input', () => {
    const started = processorTime();
    for (const text of [
      '<!--'.repeat(200_000),
      '\n'.repeat(1_000_000),
      `---\n${'a'.repeat(2_000_000)}`,
      ' '.repeat(1_000_000),
    ]) {
      findFrontMatter(text);
    }
    expect(processorTime() - started).toBeLessThan(2_000);
  });
});
