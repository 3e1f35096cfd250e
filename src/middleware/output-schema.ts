import { prompt } from '../core/prompts.ts';
import { defineMiddleware, type Middleware } from '../session/middleware.ts';
import type { Thread } from '../session/thread.ts';
import { answerCheck, type CheckedAnswer } from '../skills/output-schema.ts';

const ABOUT = 'output-schema';

/**
 * Holds the answer of a session to the `output-schema` of its skill: it has to be JSON that fits. One
 * repair is asked for, then the turn fails with its text. What fits becomes the answer as compact JSON.
 */
export function outputSchema(): Middleware {
  return defineMiddleware({
    name: 'output-schema',

    async finishTurn({ thread }) {
      const text = thread.turn?.lastText ?? '';
      const checked = text === '' ? undefined : await check(thread, text);
      if (!checked || checked.fits) return { kind: 'end' };
      const { faults } = checked;
      if (thread.turn?.asked.has(ABOUT)) {
        const why = faults.join('; ');
        return { kind: 'fail', reason: `the answer does not fit the output-schema, also after one repair: ${why}` };
      }
      const message = prompt('output-repair', {
        faults: faults.map((fault) => `- ${fault}`).join('\n'),
        schema: JSON.stringify(thread.started?.outputSchema),
      });
      return { kind: 'continue', origin: 'nudge', message, about: ABOUT };
    },

    async shapeAnswer({ thread }, answer) {
      const checked = answer === '' ? undefined : await check(thread, answer);
      return checked?.fits ? { answer: checked.json, structured: true } : undefined;
    },
  });
}

async function check({ started }: Thread, text: string): Promise<CheckedAnswer | undefined> {
  return started?.outputSchema && (await answerCheck(started.outputSchema))(text);
}
