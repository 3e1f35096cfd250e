import { fullCount, plural } from '../format.ts';
import { type Paint, printableLine, table } from '../terminal.ts';
import type { Context } from './context.ts';

/** Characters of a message that its line begins with. */
const EXCERPT = 200;

/** The context of a session for people: the total, a line a message, and what was compacted when. */
export function contextLines(
  context: Context,
  { columns, paint }: { columns: number | undefined; paint: Paint },
): string[] {
  const { tokens, counted_by, window, answer_tokens: answer, share, compact_at, messages, compactions } = context;
  const { system, tools } = context;
  const counted = counted_by === 'provider' ? 'by its provider' : 'estimated';
  const room = answer === 0 ? '' : `, ${fullCount(answer)} of them for the answer`;
  const limit = compact_at === 0 ? 'compaction is off' : `compacted from ${percent(compact_at)} on`;
  const rows = [
    ['system prompt', fullCount(system.tokens), ''],
    [plural(tools.count, 'tool'), fullCount(tools.tokens), ''],
    ...messages.map(({ role, from, tokens: count, content, calls }) => {
      const excerpt = printableLine(content.slice(0, EXCERPT));
      const asked = calls.length > 0 ? `→ ${calls.join(', ')}` : '';
      return [from === null ? role : `${role} (${from})`, fullCount(count), [excerpt, asked].filter(Boolean).join(' ')];
    }),
  ];
  return [
    `${fullCount(tokens)} of ${fullCount(window)} tokens${room} (${percent(share)}, ${counted}); ${limit}`,
    '',
    ...table(['PART', 'TOKENS', 'TEXT'], rows, columns),
    ...(compactions.length > 0 ? ['', 'Compactions:'] : []),
    ...compactions.map((each) => paint('dim', `${each.at}  ${compactionText(each)}`)),
  ];
}

/** `20,000 → 8,000 tokens: 31 messages summed up by m, 4 results left out (window)`. */
export function compactionText({
  before,
  after,
  replaced,
  reduced,
  model,
  reason,
}: Omit<Context['compactions'][number], 'at' | 'seq'>): string {
  const sizes = before === null || after === null ? '' : `${fullCount(before)} → ${fullCount(after)} tokens: `;
  const by = model === null ? '' : ` by ${printableLine(model)}`;
  const parts = [
    ...(replaced > 0 ? [`${plural(replaced, 'message')} summed up${by}`] : []),
    ...(reduced > 0 ? [`${plural(reduced, 'result')} cut`] : []),
  ];
  return `${sizes}${parts.join(', ')}${reason === null ? '' : ` (${reason})`}`;
}

const percent = (share: number): string => `${Math.round(share * 100)}%`;
