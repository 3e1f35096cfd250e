import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { oneAtATime, writeAtomically } from './atomic-write.ts';
import { defineTool, type Tool } from './define-tool.ts';
import { findPlaces, lineAt, nearestLine, replacePlaces } from './edit-match.ts';
import { memo } from './memo.ts';
import { decodeFile, encodeFile } from './text-file.ts';
import { fileProblem, ToolProblem } from './tool-problem.ts';
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
    async execute(edit, { signal }) {
      const { path } = edit;
      if (edit.old_text === '') throw new ToolProblem('old_text is empty. Use write_file to make a file.');
      if (edit.old_text === edit.new_text) throw new ToolProblem('old_text and new_text are the same: nothing to do.');
      const real = await workspace.resolveWrite(path);
      try {
        return await oneAtATime(real, async () => {
          signal.throwIfAborted();
          return apply(workspace, edit, real);
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
    if (size > MAX_BYTES) throw new ToolProblem(`${path} has ${size} bytes: too large to edit here. Use shell.`);
    bytes = await handle.readFile();
  } finally {
    await handle.close();
  }
  const file = decodeFile(bytes);
  if (!file) throw new ToolProblem(`${path} is a binary file and cannot be edited as text.`);
  const places = findPlaces(file.text, edit.old_text);
  const first = places[0];
  if (!first) throw new ToolProblem(notFound(file.text, edit));
  if (places.length > 1 && !edit.replace_all) {
    const lines = places.slice(0, 10).map(({ start }) => lineAt(file.text, start));
    throw new ToolProblem(
      `old_text is ${places.length} times in ${path} (lines ${lines.join(', ')}${places.length > 10 ? ', …' : ''}). Give more of the text around the one you mean, or set replace_all.`,
    );
  }
  const changed = encodeFile({ ...file, text: replacePlaces(file.text, places, edit.new_text) });
  if (!changed)
    throw new ToolProblem(`${path} is encoded as ${file.encoding}, which this tool cannot write here. Use shell.`);
  await writeAtomically(real, changed, path);
  const where = `line ${lineAt(file.text, first.start)}`;
  return `Edited ${workspace.display(real)}: ${places.length === 1 ? where : `${places.length} places, the first in ${where}`}.`;
}

function notFound(text: string, { path, old_text, new_text }: Edit): string {
  if (new_text !== '' && findPlaces(text, new_text).length > 0) {
    return `old_text is not in ${path}, but new_text is: the edit may have been made already.`;
  }
  const nearest = nearestLine(text, old_text);
  const hint = nearest ? ` The nearest is line ${nearest.line}: ${nearest.shown}` : '';
  return `old_text is not in ${path}.${hint}\nRead the file and copy the text exactly, blanks included.`;
}
