import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTemplate, type TemplateValue } from '../../src/models/scripted-template.ts';

const grep = 'src/a.ts:3:TODO one\nsrc/b.ts:9:TODO two\nsrc/a.ts:12:TODO three';
const data: Record<string, TemplateValue> = {
  grep,
  list: ['4 files', '11 files'],
  n: 7,
  none: undefined,
  text: 'a {{n}} b',
};
const scope = ([name = '']: readonly string[]): TemplateValue => data[name];
const render = (template: string): string => compileTemplate(template).text(scope);

describe('templates', () => {
  it.each([
    ['{{grep | count}} hits', '3 hits'],
    ['{{grep | match_all "^([^:]+):" | unique | count}}', '2'],
    ['{{grep | count_by "^([^:]+):"}}', 'src/a.ts: 2\nsrc/b.ts: 1'],
    ['{{grep | grep "b\\.ts" | first}}', 'src/b.ts:9:TODO two'],
    ['{{grep | reject "b\\.ts" | count}}', '2'],
    ['{{grep | match_all ":(\\d+):" | sum}}', '24'],
    ['{{grep | match_all ":(\\\\d+):" | max}}', '12'],
    ['{{grep | count "TODO"}}', '3'],
    ['{{list | sum}} / {{list | min}} / {{list | last | number}}', '15 / 4 / 11'],
    ['{{ (list | sum) | div (grep | count) }}', '5'],
    ['{{n | add 0.1 | add 0.2}}', '7.3'],
    ['{{n | mul 2 | sub 4 | div 3 | round 2}}', '3.33'],
    ['{{list | join " + "}}', '4 files + 11 files'],
    ['{{list | prefix "- "}}', '- 4 files\n- 11 files'],
    ['{{none | match "x" | default "nothing"}}', 'nothing'],
    ['{{grep | match "no such" | default "none"}}', 'none'],
    ['{{"a,b , c" | split "," | at -1}}', 'c'],
    ['{{\'{"a":{"b":[1,"x"]}}\' | json "a.b.1"}}', 'x'],
    ['{{"Subagent reference: sa_1\nStatus: completed\n\nThe answer.\n\nMore." | answer}}', 'The answer.\n\nMore.'],
    ['{{"x1" | match "x(\\d{1})"}} }}', '1 }}'],
    ['{{"b2\na10\nc1" | replace "[a-z]" "" | lines | sort | join}}', '1, 2, 10'],
    ['\\{{n}} {{text}}', '{{n}} a {{n}} b'],
    ['{{grep | lines | first 2 | count}}{{grep | length}}', `2${grep.length}`],
  ])('%s', (template, expected) => {
    expect(render(template)).toBe(expected);
  });

  it('keeps a number or a list when it is alone', () => {
    expect(compileTemplate('{{n}}').value(scope)).toBe(7);
    expect(compileTemplate('{{list}}').value(scope)).toEqual(data.list);
    expect(compileTemplate('{{n}}!').value(scope)).toBe('7!');
  });

  it('fails where nothing was found, and says which expression', () => {
    expect(() => render('a {{grep | match "absent"}}')).toThrow(/\{\{grep \| match "absent"\}\} found nothing/);
  });

  it.each(['{{n', '{{}}', '{{n | nope}}', '{{n |}}', '{{(n}}', '{{n m}}', '{{@}}'])(
    'refuses %s when it is read',
    (template) => {
      expect(() => compileTemplate(template)).toThrow(expect.objectContaining({ code: 'config' }));
    },
  );

  it('inserts any value literally', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(compileTemplate('<{{v}}>').text(() => value)).toBe(`<${value}>`);
      }),
    );
  });
});
