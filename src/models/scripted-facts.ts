import { isReference } from '../core/ids.ts';
import type { MessageOrigin, ToolCall, ToolMessage } from '../core/messages.ts';
import type { ModelRequest } from './contract.ts';

/**
 * What a script can ask about a request. Everything is read from the request itself, so that a
 * session continued by another process meets the same facts.
 */
export interface ScriptFacts {
  system: string;
  skill: string | undefined;
  kind: 'root' | 'child';
  session: string;
  model: string;
  toolChoice: 'auto' | 'none';
  /** The first message of the session. */
  task: string;
  /** The newest message that began a turn. */
  user: string;
  /** The newest message, of any origin, that no answer followed yet. */
  message: string | undefined;
  /** Origins of the user messages since the newest answer. */
  origins: MessageOrigin[];
  /** Model calls of the session, this one included. */
  step: number;
  /** Turns of the session, this one included. */
  turn: number;
  /** Model calls of this turn, this one included. */
  turnStep: number;
  /** Results since the newest answer, in call order. */
  newResults: ToolMessage[];
  /** Results of the newest step that has any. */
  stepResults: ToolMessage[];
  /** The calls that `stepResults` answer. */
  stepCalls: ToolCall[];
  results: ToolMessage[];
  /** References of children, in the order in which they first appear in results. */
  refs: string[];
  /** How often each rule has answered in this session. */
  fired: Map<string, number>;
}

/** The state that a scripted answer leaves in the log: which rule gave it. */
export interface ScriptedState {
  wire: 'scripted';
  rule: string;
}

/** Of a result of one sub-agent, and of one of several items. */
const REFERENCE_LINE = /^(?:Subagent reference: |Item \d+ · )(sa_\w+)/gm;

export function factsOf(request: ModelRequest): ScriptFacts {
  const facts: ScriptFacts = {
    system: request.system,
    skill: request.skill,
    kind: isReference(request.session) ? 'child' : 'root',
    session: request.session,
    model: request.model,
    toolChoice: request.toolChoice ?? 'auto',
    task: '',
    user: '',
    message: undefined,
    origins: [],
    step: 1,
    turn: 0,
    turnStep: 1,
    newResults: [],
    stepResults: [],
    stepCalls: [],
    results: [],
    refs: [],
    fired: new Map(),
  };
  let calls: ToolCall[] = [];
  let isFirst = true;
  for (const message of request.messages) {
    if (message.role === 'user') {
      if (isFirst) facts.task = message.content;
      isFirst = false;
      if (message.origin !== 'nudge' && message.origin !== 'notice') {
        facts.user = message.content;
        facts.turn++;
        facts.turnStep = 1;
      }
      facts.message = message.content;
      facts.origins.push(message.origin);
    } else if (message.role === 'assistant') {
      facts.step++;
      facts.turnStep++;
      facts.message = undefined;
      facts.origins = [];
      facts.newResults = [];
      calls = message.toolCalls;
      const { rule } = (message.providerState ?? {}) as Partial<ScriptedState>;
      if (rule !== undefined) facts.fired.set(rule, (facts.fired.get(rule) ?? 0) + 1);
    } else {
      facts.newResults.push(message);
      facts.stepResults = facts.newResults;
      facts.stepCalls = calls;
      facts.results.push(message);
      for (const [, ref] of message.content.matchAll(REFERENCE_LINE)) {
        if (ref && !facts.refs.includes(ref)) facts.refs.push(ref);
      }
    }
  }
  return facts;
}
