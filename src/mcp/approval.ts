import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Approval, ApprovalRequest } from '../middleware/approvals.ts';
import { neutralise } from '../skills/neutralise.ts';

/** How long a person has for an answer, in milliseconds; then it is a no. */
const PATIENCE = 5 * 60_000;

/** Longest command or path in a question, in characters. */
const LONGEST_SUBJECT = 2_000;

/** Asks the person at the client, where the client can put questions; else nobody can be asked. */
export function clientApproval(server: Server): ((request: ApprovalRequest) => Promise<Approval>) | undefined {
  if (!server.getClientCapabilities()?.elicitation?.form) return undefined;
  return async ({ session, path, tool, subject, cwd, signal }) => {
    const who = path.length === 0 ? 'The agent' : `${path.map(neutralise).join(' › ')} (${session})`;
    const what = subject === '' ? tool : `${tool}: ${neutralise(subject).slice(0, LONGEST_SUBJECT)}`;
    const answer = await server
      .elicitInput(
        {
          message: `${who} wants to use ${what}\nin ${cwd}`,
          requestedSchema: {
            type: 'object',
            properties: {
              allow: {
                type: 'string',
                title: 'Allow it?',
                enum: ['once', 'always', 'no'],
                enumNames: ['This once', 'Always this one', 'No'],
              },
            },
            required: ['allow'],
          },
        },
        { signal, timeout: PATIENCE },
      )
      .catch(() => undefined);
    const allow = answer?.action === 'accept' ? answer.content?.allow : 'no';
    return allow === 'once' || allow === 'always' ? allow : 'no';
  };
}
