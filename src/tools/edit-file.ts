import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { oneAtATime, writeAtomically } from './atomic-write.ts';
import { defineTool, type Tool } from './define-tool.ts';
import { findPlaces, lineAt, nearestLine, replacePlaces } from './edit-match.ts';
import { memo } from './memo.ts';
import { decodeFile, encodeFile } from './text-file.ts';
import { fileProblem, problem, type ToolProblem } from './tool-problem.ts';
import type { Workspace } from './workspace.ts';

const MAX_BYTES = 20 * 1024 * 1024;

interface Edit {
  path: string;
  old_text: string;
  new_text: string;
  replace_all?: boolean | undefined;
}

const schemaOf = memo((parameters: Record<string, string>) =>
  z.object({
    path: z.string(),
    old_text: z.string().describe(parameters.old_text ?? ''),
    new_text: z.string(),
    replace_all: z.boolean().optional(),
  }),
);

/** Replaces one place of a text file, or all of them; encoding, line ends and mode stay. */
export function editFileTool(workspace: Workspace): Tool<Edit> {
  const { description, parameters } = toolPrompt('edit_file');
  return defineTool({
    name: 'edit_file',
    description,
    input: schemaOf(parameters),
    effects: 'write',
    subject: ({ path }) => workspace.subject(path),
    staysInScratch: ({ path }, { scratch }) => workspace.withScratch(scratch).isScratch(path),
    async execute(edit, { signal, scratch }) {
      const { path } = edit;
      if (edit.old_text === '') throw problem('old-text-empty');
      if (edit.old_text === edit.new_text) throw problem('nothing-to-edit');
      const own = workspace.withScratch(scratch);
      const real = await own.resolveWrite(path);
      try {
        return await oneAtATime(real, async () => {
          signal.throwIfAborted();
          return apply(own, edit, real);
        });
      } catch (error) {
        throw fileProblem(error, path);
      }
    },
  });
}

async function apply(workspace: Workspace, edit: Edit, real: string): Promise<string> {
  const { path } = edit;
  const { handle, size } = await workspace.open(path);
  let bytes: Buffer;
  try {
    if (size > MAX_BYTES) throw problem('too-large-to-edit', { path, size });
    bytes = await handle.readFile();
  } finally {
    await handle.close();
  }
  const file = decodeFile(bytes);
  if (!file) throw problem('binary-edit', { path });
  const places = findPlaces(file.text, edit.old_text);
  const first = places[0];
  if (!first) throw notFound(file.text, edit);
  if (places.length > 1 && !edit.replace_all) {
    const lines = places.slice(0, 10).map(({ start }) => lineAt(file.text, start));
    const listed = lines.join(', ') + (places.length > 10 ? ', …' : '');
    throw problem('old-text-often', { count: places.length, path, lines: listed });
  }
  const changed = encodeFile({ ...file, text: replacePlaces(file.text, places, edit.new_text) });
  if (!changed) throw problem('encoding-unwritable', { path, encoding: file.encoding });
  await writeAtomically(real, changed, path);
  const where = `line ${lineAt(file.text, first.start)}`;
  return `Edited ${workspace.display(real)}: ${places.length === 1 ? where : `${places.length} places, the first in ${where}`}.`;
}

function notFound(text: string, { path, old_text, new_text }: Edit): ToolProblem {
  if (new_text !== '' && findPlaces(text, new_text).length > 0) return problem('edited-already', { path });
  const nearest = nearestLine(text, old_text);
  return nearest
    ? problem('old-text-missing-near', { path, line: nearest.line, shown: nearest.shown })
    : problem('old-text-missing', { path });
}
