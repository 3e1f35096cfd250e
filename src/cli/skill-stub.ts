import type { RunAs } from '../skills/types.ts';

export const stubDescription = (runAs: RunAs): string =>
  runAs === 'subagent'
    ? 'Say in one line what this does and what it returns, so that a model knows when to delegate to it.'
    : 'Say in one line what this is about and when to use it.';

/** A body to be edited: the parts that a good playbook has. */
export const stubBody = (name: string, runAs: RunAs): string =>
  runAs === 'subagent' ? subagentBody(name) : inlineBody(name);

const subagentBody = (name: string): string => `You are ${name}: say in one sentence what you are here for.

Your task arrives as the user message. Nobody answers questions while you work, so decide and say what you assumed.

## How to work

1. Say what to look at first, and with which tools.
2. Say when enough is enough.

## What to return

Only your last message goes back. Say what it must hold: the answer first, then the evidence, as file:line.
`;

const inlineBody = (name: string): string => `# ${name}

<<arguments>>

## Steps

1. Say what to do first.
2. Say how to check that it worked.
`;
