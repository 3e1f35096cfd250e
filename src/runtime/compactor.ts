import type { AgentConfig } from '../config/config.ts';
import { messageOf } from '../core/errors.ts';
import { Compactor } from '../middleware/compaction/compactor.ts';
import type { Models } from '../models/contract.ts';
import type { SessionStore } from '../store/contract.ts';
import { childLines } from '../subagents/list-children.ts';

/** Children that a compacted session is told of, newest first. */
const MOST_CHILDREN = 20;

/** What compacts the sessions of a runtime. A model for summaries that is not to be had stops nothing. */
export function configuredCompactor(
  { compact_at: at, compact_model: name }: AgentConfig,
  { models, store, onProblem }: { models: Models; store: SessionStore; onProblem(text: string): void },
): Compactor {
  const model = async () => {
    if (name === undefined) return undefined;
    try {
      return await models.resolve(name);
    } catch (error) {
      onProblem(`agent.compact_model ${name} is not to be had, the session's own sums up: ${messageOf(error)}`);
      return undefined;
    }
  };
  const children = async (session: string) => (await childLines(store, session, MOST_CHILDREN)).join('\n');
  return new Compactor({ at, model, children });
}
