import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { htmlToText } from '../../src/tools/html-text.ts';
import { processorTime } from '../helpers/processor-time.ts';

const text = (html: string) => htmlToText(html, 'https://example.org/dir/page').text;

describe('htmlToText', () => {
  it.each([
    ['<p>One</p><p>Two</p>', 'One\n\nTwo'],
    ['<h2>A</h2>b<br>c', '## A\n\nb\nc'],
    ['<ul><li>a</li><li><p>b</p></li></ul>', '- a\n- b'],
    ['a <a href="/x?y=1&amp;z">link</a> b', 'a [link](https://example.org/x?y=1&z) b'],
    ['<a href="javascript:x()">a</a> <a href="#top">b</a>', 'a b'],
    ['<pre>  a\n   b</pre>', '```\n  a\n   b\n```'],
    ['<table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>', 'a | b\n1 | 2'],
    ['a<script>if (1 < 2) "</p>"</script><style>p{}</style>b<!-- <p> -->c', 'abc'],
    ['<svg><text>no</text></svg>yes', 'yes'],
    ['1 < 2 && 3 &gt; 2 &#x1F3AF; &#8364; &nope; &#xD800;', '1 < 2 && 3 > 2 🎯 € &nope; \uFFFD'],
    ['<img src=x alt="A cat">', '[A cat]'],
    ['<a title="a > b" href=x>y</a>', '[y](https://example.org/dir/x)'],
    ['<head><meta x>unclosed<body>text', 'text'],
    ['plain', 'plain'],
    ['', ''],
  ])('reads %j', (html, expected) => {
    expect(text(html)).toBe(expected);
  });

  it('takes the first title', () => {
    expect(htmlToText('<title> A\n B </title><body>x<svg><title>no</title></svg>', 'https://e.org').title).toBe('A B');
  });

  it('survives any markup, well-formed', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '<a href="',
      '"',
      '<p>',
      '</',
      'pre',
      '<pre>',
      '<!--',
      '-->',
      '&',
      '#x1;',
      ' ',
      '=',
      'title',
      '<li',
      '🎯',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const page = htmlToText(pieces.join(''), 'https://e.org');
        expect(page.text.isWellFormed() && page.title.isWellFormed()).toBe(true);
      }),
    );
  });

  it.each(['<', '<a ', '<a href="x">', '<!--', '<title>', '<svg></p>', '<pre> ', ' \n', '<li><p>', '<a x="'])(
    'takes time in proportion for a page of %j',
    (piece) => {
      const started = processorTime();
      text(`<pre>${' '.repeat(200_000)}</pre>${piece.repeat(100_000)}`);
      expect(processorTime() - started).toBeLessThan(2_000);
    },
  );
});
