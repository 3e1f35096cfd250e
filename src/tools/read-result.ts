import { z } from 'zod';
import { prompt, toolPrompt } from '../core/prompts.ts';
import { defineTool, type Tool } from './define-tool.ts';

/** Finds the whole text of a tool call of a session, or of an answer of a child of its tree. */
export type FullResultLookup = (session: string, id: string) => Promise<string | undefined>;

/** Characters that one page has when the model does not say. */
const PAGE = 10_000;
/** At three bytes a character a page stays below the largest result, so that it is never clipped itself. */
const LARGEST_PAGE = 10_000;

interface Page {
  id: string;
  offset: number;
  limit: number;
}

/**
 * Pages through a result that was clipped, or through a child's whole answer. A session that can have no
 * children is told of its own results alone.
 */
export function readResultTool(lookup: FullResultLookup, of: 'own' | 'answers' = 'answers'): Tool<Page> {
  const { description, parameters } =
    of === 'answers' ? toolPrompt('read_result') : { description: prompt('read-on'), parameters: {} };
  const tool = defineTool({
    name: 'read_result',
    description,
    input: z
      .object({
        id: z.string().optional(),
        reference: z.string().optional(),
        offset: z.int().min(0).default(0),
        limit: z.int().min(1).max(LARGEST_PAGE).default(PAGE),
      })
      .transform(({ id, reference, offset, limit }, context): Page => {
        const wanted = id || reference;
        if (wanted) return { id: wanted, offset, limit };
        context.addIssue({ code: 'custom', path: ['id'], message: 'required, or a reference' });
        return z.NEVER;
      }),
    effects: 'read',
    async execute({ id, offset, limit }, context) {
      const text = await lookup(context.session, id);
      if (text === undefined) return { content: prompt('result-unknown', { id }), isError: true };
      // Between the halves of a surrogate pair a page would start or end with half a character.
      const start = alignedTo(text, offset);
      const end = alignedTo(text, Math.min(text.length, start + limit));
      const rest = end < text.length ? prompt('result-more', { end, total: text.length, id }) : '';
      return `${text.slice(start, end)}${rest === '' ? '' : `\n${rest}`}`;
    },
  });
  // Every session carries this tool: it shows one name for what may be given under two, and no smaller page.
  const id = { type: 'string', ...(parameters.id === undefined ? {} : { description: parameters.id }) };
  const properties = { id, offset: { type: 'integer' } };
  return { ...tool, parameters: { type: 'object', properties, required: ['id'] } };
}

function alignedTo(text: string, position: number): number {
  const unit = text.charCodeAt(position);
  return unit >= 0xdc00 && unit <= 0xdfff ? position - 1 : position;
}
