import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readNamed } from '../../src/skills/argument-words.ts';
import { ARGUMENTS_LIMIT, renderBody } from '../../src/skills/arguments.ts';
import { processorTime } from '../helpers/processor-time.ts';

const text = (body: string, given?: string | null, names?: string[]) =>
  renderBody(body, { arguments: given, names }).text;

describe('the placeholder and its synonyms', () => {
  it('D01 takes values literally, at every occurrence', () => {
    const given = "deploy $& svc 100$$ $` $' $1 $<x> <<arguments>> {{arguments}}";
    expect(text('run <<arguments>> now / {{arguments}} / $ARGUMENTS.', given)).toBe(
      `run ${given} now / ${given} / ${given}.`,
    );
  });

  it('D03 leaves positional forms of shells alone', () => {
    const body =
      "```sh\nawk '{print $1, $2}' f; echo $0 $@ $#\n```\ncosts $1.42B, $ARGUMENTS[0] $ARGUMENTS_X $ARGUMENTS2";
    expect(renderBody(body, { arguments: 'scan two' })).toEqual({ text: body, used: false });
  });

  it('fills $ARGUMENTS as a whole token, whatever script follows', () => {
    expect(text('$ARGUMENTS的 $ARGUMENTS-x "$ARGUMENTS" $ARGUMENTS', 'v')).toBe('v的 v-x "v" v');
  });

  it.each([undefined, null, ''])('D06 puts nothing in for %s', (given) => {
    expect(text('Task: {{arguments}}|<<arguments>>|$ARGUMENTS|', given)).toBe('Task: |||');
  });

  it('D07 knows no other template', () => {
    const body = `{{ user.name }} \${{ secrets.X }} {% if a %} {{{raw}}} {{ arguments }} cat <<EOF a << 2 <<stereotype>> <<<<<<< HEAD <<Arguments>> `;
    expect(text(`${body}{{arguments}}`, 'x')).toBe(`${body}x`);
  });

  it('fills the capital spelling, which is found in real skills', () => {
    expect(text('Task: {{ARGUMENTS}}', 'x')).toBe('Task: x');
  });

  it('shows a placeholder behind a backslash, and only that backslash goes', () => {
    expect(text('\\<<arguments>> \\{{arguments}} \\$ARGUMENTS \\<<file>> \\n \\$HOME \\<<other>>', 'v', ['file'])).toBe(
      '<<arguments>> {{arguments}} $ARGUMENTS <<file>> \\n \\$HOME \\<<other>>',
    );
    expect(renderBody('\\<<arguments>>', { arguments: 'v' }).used).toBe(false);
  });

  it('refuses arguments over 64 KiB, counted in bytes', () => {
    expect(text('<<arguments>>', 'a'.repeat(ARGUMENTS_LIMIT))).toHaveLength(ARGUMENTS_LIMIT);
    expect(() => text('no placeholder', 'é'.repeat(ARGUMENTS_LIMIT / 2 + 1))).toThrow(
      expect.objectContaining({ code: 'skill_invalid', message: expect.stringContaining('65538') }),
    );
  });
});

describe('named arguments', () => {
  const body = 'file=<<file>> mode=<<mode>> other=<<other>>';
  const names = ['file', 'mode'];

  it('come from a JSON object', () => {
    const given = '{"file":"$& <<mode>>","mode":3}';
    expect(renderBody(body, { arguments: given, names })).toEqual({
      text: 'file=$& <<mode>> mode=3 other=<<other>>',
      used: true,
    });
    expect(text(body, '{"file":null,"mode":{"a":[true]}}', names)).toBe('file= mode={"a":[true]} other=<<other>>');
    expect(text(body, '{"__proto__":1,"constructor":2}', names)).toBe('file= mode= other=<<other>>');
  });

  it('come from key=value words with quotes', () => {
    expect(text(body, `file="my \\"big\\" file.txt" mode='a  b'`, names)).toBe(
      'file=my "big" file.txt mode=a  b other=<<other>>',
    );
    expect(text(body, 'file=C:\\dir\\x mode=http://x?a=b', names)).toBe(
      'file=C:\\dir\\x mode=http://x?a=b other=<<other>>',
    );
    expect(text(body, 'file="open mode=x', names)).toBe('file="open mode=x other=<<other>>');
    expect(text(body, "it's file=a don't mode=b", names)).toBe('file=a mode=b other=<<other>>');
  });

  it('are not all used while a word or key is left over', () => {
    const used = (given: string, names_ = names) => renderBody('<<file>>', { arguments: given, names: names_ }).used;
    expect(used('file=a')).toBe(true);
    expect(used('file=a and be quick')).toBe(false);
    expect(used('file=a mode=b')).toBe(false);
    expect(used('{"file":"a","extra":1}')).toBe(false);
    expect(used('src/a.ts')).toBe(false);
  });

  it('read hostile quotes in linear time', () => {
    const started = processorTime();
    for (const hostile of ['"\\"'.repeat(20_000), '"'.repeat(40_001), ' "\\\\'.repeat(15_000), "a='".repeat(20_000)]) {
      readNamed(hostile, ['a']);
    }
    expect(processorTime() - started).toBeLessThan(2_000);
  });
});

describe('whatever the body and the arguments', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '<<',
      '>>',
      '{{',
      '}}',
      '$',
      '\\',
      'arguments',
      'ARGUMENTS',
      '$&',
      '$1',
      '\r\n',
      '<<x>>',
      `\${{ a }}`,
    ),
  );
  const anything = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));

  it('changes placeholders only', () => {
    fc.assert(
      fc.property(fc.array(anything, { minLength: 1, maxLength: 5 }), anything, (parts, given) => {
        // in signs that belong to no placeholder, so that none forms across the joints
        const clean = parts.map((part) => `\u0001${part.replace(/arguments/gi, 'argument')}\u0001`);
        expect(text(clean.join('<<arguments>>'), given)).toBe(clean.join(given));
        expect(text(clean.join('{{arguments}}'), given)).toBe(clean.join(given));
        expect(text(clean.join('$ARGUMENTS'), given)).toBe(clean.join(given));
        expect(text(clean.join(''), given)).toBe(clean.join(''));
      }),
      { numRuns: 300 },
    );
  });

  it('gives a named value back as it was, from JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        expect(text('[<<n>>]', JSON.stringify({ n: value }), ['n'])).toBe(`[${value}]`);
      }),
    );
  });
});
