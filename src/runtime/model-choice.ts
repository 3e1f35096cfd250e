import type { AgentConfig } from '../config/config.ts';
import { messageOf, ReasonixError } from '../core/errors.ts';
import type { EventOf } from '../core/events.ts';
import type { Models } from '../models/contract.ts';
import type { Skill } from '../skills/types.ts';

type SessionModel = EventOf<'session.started'>['model'];

/** What other products write for "the model of whoever asks". */
const AS_PARENT = new Set(['inherit', 'default', '']);

/**
 * The model of a child: the configuration's for that skill, the skill's own, the configuration's for
 * all children, the parent's. What an author of a shared skill wrote cannot stop the run where that
 * model does not exist: the next one is taken and `onProblem` told. Configured names must exist.
 */
export async function chooseChildModel(
  models: Models,
  agent: AgentConfig,
  skill: Skill,
  parent: SessionModel,
  onProblem: (text: string) => void,
): Promise<SessionModel> {
  const effort = skill.effort ?? agent.subagent_effort ?? parent.effort;
  const withEffort = (provider: string, name: string): SessionModel => ({
    provider,
    name,
    ...(effort ? { effort } : {}),
  });
  const configured = agent.subagent_models[skill.name];
  if (configured === undefined && skill.model !== undefined && !AS_PARENT.has(skill.model)) {
    try {
      const { provider, model } = await models.resolve(skill.model);
      return withEffort(provider, model);
    } catch (error) {
      if (!ReasonixError.isInstance(error)) throw error;
      onProblem(`skill ${skill.name} asks for the model ${skill.model}, which is not to be had: ${messageOf(error)}`);
    }
  }
  const wanted = configured ?? agent.subagent_model;
  if (wanted === undefined) return withEffort(parent.provider, parent.name);
  const { provider, model } = await models.resolve(wanted);
  return withEffort(provider, model);
}
