import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '../core/prompts.ts';
import { clipStart } from '../core/text.ts';
import { defineMiddleware, type Middleware } from '../session/middleware.ts';

const FILES = ['AGENTS.md', 'CLAUDE.md'];

/** Longest instructions that ride on every request, in characters. */
const LIMIT = 32 * 1024;

/**
 * Freezes the project's own instructions, `AGENTS.md` or else `CLAUDE.md` of the working folder, into
 * the prompt of a root session, and of a child whose skill says `inherit: instructions`.
 */
export function projectInstructions(): Middleware {
  return defineMiddleware({
    name: 'project-instructions',
    async prepareSession(setup) {
      if (!setup.isNew) return;
      if (setup.kind === 'child' && !setup.inherit.includes('instructions')) return;
      for (const file of FILES) {
        const text = await readFile(join(setup.cwd, file), 'utf8').catch(() => '');
        if (text.trim() === '') continue;
        const kept = clipStart(text, LIMIT);
        const rest = kept.length < text.length ? prompt('instructions-clipped', { file }) : '';
        setup.addSection(prompt('project-instructions', { file, text: kept.trim(), rest }).trimEnd());
        return;
      }
    },
  });
}
