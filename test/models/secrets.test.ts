import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskSecrets } from '../../src/models/secrets.ts';
import { processorTime } from '../helpers/processor-time.ts';

describe('G07 maskSecrets', () => {
  it.each([
    ['key sk-TEST0123456789abcdef rest', 'key *** rest'],
    ['Authorization: Bearer TEST0123.abc', 'Authorization: Bearer ***'],
    ['{"authorization": "Bearer TEST0123"}', '{"authorization": "Bearer ***"}'],
    ['Bearer TESTTESTTEST', 'Bearer ***'],
    ['x-api-key=abc', 'x-api-key=***'],
    ['"api_key":"abc","model":"m"', '"api_key":"***","model":"m"'],
    ['https://user:pw@host/v1', 'https://***@host/v1'],
    ['https://host/v1?api_key=abc&x=1', 'https://host/v1?api_key=***&x=1'],
    ['ghp_0123456789abcdefghij AKIAABCDEFGHIJKLMNOP', '*** ***'],
    ['AIzaSyA0123456789012345678901234567890', '***'],
    ['the task asks about sk-learn and bearer tokens', 'the task asks about sk-learn and bearer tokens'],
    ['call_01abc sa_01kgetdwzx s_01kget', 'call_01abc sa_01kgetdwzx s_01kget'],
  ])('%s', (text, expected) => {
    expect(maskSecrets(text)).toBe(expected);
  });

  it('masks what it is told is secret, and nothing that is too short to be', () => {
    expect(maskSecrets('my house, my rules', ['house', 'my'])).toBe('my ***, my rules');
  });

  it('leaves nothing of a secret that holds another', () => {
    expect(maskSecrets('it is abcd-efgh', ['abcd', 'abcd-efgh'])).toBe('it is ***');
  });

  it('changes nothing the second time', () => {
    const part = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom(
        'sk-aaaaaaaaaaaaaaaa',
        'Authorization: ',
        'Bearer ',
        'api_key=',
        'https://u:p@h',
        '***',
        '"',
        ' ',
      ),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const once = maskSecrets(parts.join(''), ['known-secret']);
        expect(maskSecrets(once, ['known-secret'])).toBe(once);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['one long word', 'x'],
    ['what may begin a token', 'eyJhbGciOi-'],
    ['what may begin a key', 'sk-'],
    ['what may begin an address', 'a+b://c:'],
    ['what may begin a header', 'Authorization: Bearer '],
    ['blanks', ' '],
  ])('takes linear time on a megabyte of %s', (_, piece) => {
    const text = piece.repeat(1_000_000 / piece.length);
    const startedAt = processorTime();
    maskSecrets(text);
    expect(processorTime() - startedAt).toBeLessThan(2_000);
  });
});
