import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Clock, searchText } from '../../src/skills/search-matcher.ts';
import { rank, type SkillTexts } from '../../src/skills/search-rank.ts';
import { termsOf, wordMatcher } from '../../src/skills/search-words.ts';
import type { Skill } from '../../src/skills/types.ts';

const clock = new Clock(60_000);
const letters = fc.array(fc.constantFrom('a', 'b', 'ab', ' ', '\n', '世', '界', 'ß'), { maxLength: 60 });
const texts = letters.map((parts) => searchText(parts.join('')));
const terms = fc.uniqueArray(fc.constantFrom('a', 'b', 'ab', 'aba', 'bb', '世界', '界世界', 'ss'), { minLength: 1 });

describe('words of a search', () => {
  it('are counted like cutting the text at them, up to eight', () => {
    fc.assert(
      fc.property(texts, terms, (text, wanted) => {
        const plain = wanted.map((term) => Math.min(8, text.folded.split(term).length - 1));
        const counts = wordMatcher(wanted, false).count(text, clock);
        // three signs without blanks also count as found where both of their pairs are
        const expected = wanted.map((term, index) => {
          const byPairs = term === '界世界' && ['界世', '世界'].every((pair) => text.folded.includes(pair));
          return plain[index] || Number(byPairs);
        });
        expect(counts).toEqual(expected.some((count) => count > 0) ? expected : []);
      }),
    );
  });

  it('are whole words where that is wanted', () => {
    const { count } = wordMatcher(['ab', 'b'], true);
    expect(count(searchText('ab abb a-b b'), clock)).toEqual([1, 2]);
    expect(count(searchText('abab bb'), clock)).toEqual([]);
  });

  it('rank the same whether bodies were counted before or not', () => {
    const entry = fc.record({ name: texts, description: texts, body: texts });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 6 }), terms, fc.boolean(), (entries, wanted, needsAll) => {
        const matcher = wordMatcher(wanted, false);
        const all = entries.map(
          ({ name, description, body }, index): SkillTexts => ({
            skill: { name: `s${index}` } as Skill,
            name,
            description,
            body,
            references: [],
            bodyCounts: matcher.count(body, clock),
          }),
        );
        const options = { wanted: wanted.join(' '), needsAll, clock };
        expect(rank(all, matcher, { ...options, bodiesAreCounted: true })).toEqual(
          rank(all, matcher, { ...options, bodiesAreCounted: false }),
        );
      }),
    );
  });

  it('may have parts of which any will do', () => {
    expect(termsOf('audit the ledger')).toEqual({ all: ['audit', 'ledger'], any: ['audit', 'ledger'] });
    expect(termsOf('pull-request')).toEqual({ all: ['pull-request'], any: ['pull-request', 'pull', 'request'] });
  });
});
