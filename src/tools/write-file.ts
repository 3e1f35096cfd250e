import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { oneAtATime, writeAtomically } from './atomic-write.ts';
import { defineTool, type Tool } from './define-tool.ts';
import { memo } from './memo.ts';
import { fileProblem } from './tool-problem.ts';
import type { Workspace } from './workspace.ts';

interface WriteInput {
  path: string;
  content: string;
}

const schemaOf = memo(() => z.object({ path: z.string(), content: z.string() }));

/** Creates or replaces a whole file, in UTF-8. */
export function writeFileTool(workspace: Workspace): Tool<WriteInput> {
  const { description } = toolPrompt('write_file');
  return defineTool({
    name: 'write_file',
    description,
    input: schemaOf(),
    effects: 'write',
    subject: ({ path }) => workspace.subject(path),
    staysInScratch: ({ path }, { scratch }) => workspace.withScratch(scratch).isScratch(path),
    async execute({ path, content }, { signal, scratch }) {
      const own = workspace.withScratch(scratch);
      const real = await own.resolveWrite(path);
      const bytes = Buffer.from(content, 'utf8');
      try {
        const before = await oneAtATime(real, () => {
          signal.throwIfAborted();
          return writeAtomically(real, bytes, path);
        });
        const shown = own.display(real);
        if (before === undefined) return `Created ${shown} (${bytes.length} bytes).`;
        return `Replaced ${shown} (${bytes.length} bytes, ${before} before).`;
      } catch (error) {
        throw fileProblem(error, path);
      }
    },
  });
}
