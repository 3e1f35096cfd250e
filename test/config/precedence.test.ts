import fc from 'fast-check';
import { expect, test } from 'vitest';
import { explainKey } from '../../src/config/explain.ts';
import { TestFolders } from './folders.ts';

/** Places of the cascade, highest first, and how each writes a key. */
const PLACES = [
  'flag',
  'environment',
  'profile table',
  'profile file',
  'reasonix.toml',
  '.reasonix/config.toml',
  '.scorpiox',
  '.claude',
  'user toml',
  'user scorpiox',
] as const;
type Place = (typeof PLACES)[number];

const TIER: Record<Place, string> = {
  flag: 'flag',
  environment: 'environment',
  'profile table': 'profile',
  'profile file': 'profile',
  'reasonix.toml': 'project',
  '.reasonix/config.toml': 'project',
  '.scorpiox': 'project',
  '.claude': 'project',
  'user toml': 'user',
  'user scorpiox': 'user',
};

const FILES: Partial<Record<Place, string>> = {
  'profile file': 'home/.reasonix/profiles/p.toml',
  '.reasonix/config.toml': 'project/.reasonix/config.toml',
  '.scorpiox': 'project/.scorpiox/scorpiox-env.txt',
  '.claude': 'project/.claude/scorpiox-env.txt',
  'user toml': 'home/.reasonix/config.toml',
  'user scorpiox': 'home/.claude/scorpiox-env.txt',
};

const value = {
  boolean: fc.boolean(),
  percent: fc.integer({ min: 0, max: 100 }),
  list: fc.array(fc.stringMatching(/^[a-z]{1,6}\*?$/), { minLength: 1, maxLength: 3 }),
};

const KEYS = {
  'skills.lazy': { name: 'TOOL_SEARCHSKILLS', values: value.boolean, fallback: false },
  'skills.required.force': { name: 'REQUIRED_SKILLS_FORCED', values: value.boolean, fallback: false },
  'skills.list.top_percent': { name: 'SKILL_LIST_TOP_PERCENT', values: value.percent, fallback: 0 },
  'skills.list.include': { name: 'SKILL_LIST_INCLUDE', values: value.list, fallback: [] },
  'skills.list.exclude': { name: 'REASONIX_SKILLS__LIST__EXCLUDE', values: value.list, fallback: [] },
} as const;
type Key = keyof typeof KEYS;
const keys = Object.keys(KEYS) as Key[];

type Setting = boolean | number | string[] | undefined;
const settings = fc.record(
  Object.fromEntries(
    keys.map((key) => [
      key,
      fc.array(fc.option(KEYS[key].values as fc.Arbitrary<Setting>, { nil: undefined, freq: 1 }), {
        minLength: PLACES.length,
        maxLength: PLACES.length,
      }),
    ]),
  ) as Record<Key, fc.Arbitrary<Setting[]>>,
);

const asText = (setting: Setting): string => (Array.isArray(setting) ? setting.join(',') : String(setting));

test('of random assignments the highest place that sets a key wins, key by key', async () => {
  await fc.assert(
    fc.asyncProperty(settings, async (drawn) => {
      const folders = new TestFolders();
      try {
        const at = (place: Place): [Key, Setting][] =>
          keys
            .map((key): [Key, Setting] => [key, drawn[key][PLACES.indexOf(place)]])
            .filter(([, setting]) => setting !== undefined);
        const toml = (place: Place, prefix = '') =>
          at(place)
            .map(([key, setting]) => `${prefix}${key} = ${JSON.stringify(setting)}\n`)
            .join('');
        const lines = (place: Place) => at(place).map(([key, setting]) => `${KEYS[key].name}=${asText(setting)}`);
        folders.write('project/reasonix.toml', `${toml('reasonix.toml')}[profiles.p]\n${toml('profile table')}`);
        for (const [place, file] of Object.entries(FILES) as [Place, string][]) {
          folders.write(file, file.endsWith('.toml') ? toml(place) : lines(place).join('\n'));
        }
        const loaded = await folders.load({
          profile: 'p',
          overrides: at('flag').map(
            ([key, setting], index) => `${index % 2 ? key : KEYS[key].name}=${asText(setting)}`,
          ),
          env: Object.fromEntries(at('environment').map(([key, setting]) => [KEYS[key].name, asText(setting)])),
        });
        for (const key of keys) {
          const index = drawn[key].findIndex((setting) => setting !== undefined);
          const winner = PLACES[index];
          const source = loaded.sources.get(key);
          expect(source?.value).toEqual(winner ? drawn[key][index] : KEYS[key].fallback);
          expect(source?.tier).toBe(winner ? TIER[winner] : 'default');
          if (winner && FILES[winner]) expect(source?.path?.endsWith(FILES[winner])).toBe(true);
          const inConfig = key
            .split('.')
            .reduce<unknown>((section, name) => (section as Record<string, unknown>)[name], loaded.config);
          expect(inConfig).toEqual(source?.value);

          const { values } = explainKey(loaded, key);
          expect(values.map(({ value: shown }) => shown)).toEqual([
            ...drawn[key].filter((setting) => setting !== undefined),
            KEYS[key].fallback,
          ]);
          expect(values.map(({ wins }) => wins)).toEqual(values.map((_, position) => position === 0));
        }
      } finally {
        folders.remove();
      }
    }),
    { numRuns: 120 },
  );
});
