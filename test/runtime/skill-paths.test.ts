import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workshop } from './workshop.ts';

test("variables in skill paths are those of the runtime's environment", async () => {
  const place = workshop();
  const folder = join(place.home, 'team skills', 'deploy');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'SKILL.md'), '---\ndescription: Deploys.\n---\nDeploy.\n');
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the variables are expanded by the library
  place.write('reasonix.toml', '[skills]\npaths = ["${TEAM_FOLDER}/team skills", "${PATH}"]\n');
  const { runtime } = await place.open(() => ({ text: 'x' }), { env: { TEAM_FOLDER: place.home } });
  const library = await runtime.library();
  expect(library.skills.map(({ name }) => name)).toContain('deploy');
  expect(library.diagnostics.map(({ code, path }) => `${code} ${path}`)).toEqual([
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as above
    'path-variable-unset ${PATH}',
  ]);
});
