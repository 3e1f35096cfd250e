import type { SessionEvent } from '../core/events.ts';
import type { ModelReply } from '../models/contract.ts';
import type { ToolOutcome } from '../tools/define-tool.ts';
import type { TurnEnd } from './loop.ts';
import type { Middleware, ModelCall, NextModel, NextTool, ToolRun, TurnVerdict, TurnView } from './middleware.ts';

type Link<Input, Output> = (input: Input, next: (input: Input) => Promise<Output>) => Promise<Output>;

/** Builds the onion. The guard makes a `next` that is called while its last call still runs an error. */
function compose<Input, Output>(
  links: readonly { name: string; link: Link<Input, Output> }[],
  base: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return links.reduceRight<(input: Input) => Promise<Output>>(
    (next, { name, link }) =>
      (input) => {
        let busy = false;
        return link(input, async (inner) => {
          if (busy) throw new Error(`middleware ${name} called next() while its earlier call was still running`);
          busy = true;
          try {
            return await next(inner);
          } finally {
            busy = false;
          }
        });
      },
    base,
  );
}

export function composeModel(chain: readonly Middleware[], base: NextModel): NextModel {
  const links = chain.flatMap((middleware) =>
    middleware.aroundModel
      ? [{ name: middleware.name, link: middleware.aroundModel.bind(middleware) as Link<ModelCall, ModelReply> }]
      : [],
  );
  return compose(links, base);
}

export function composeTool(chain: readonly Middleware[], base: NextTool): NextTool {
  const links = chain.flatMap((middleware) =>
    middleware.aroundTool
      ? [{ name: middleware.name, link: middleware.aroundTool.bind(middleware) as Link<ToolRun, ToolOutcome> }]
      : [],
  );
  return compose(links, base);
}

export async function openingOf(
  chain: readonly Middleware[],
  turn: TurnView,
): Promise<{ notices: string[]; events: SessionEvent[] }> {
  const notices: string[] = [];
  const events: SessionEvent[] = [];
  for (const middleware of chain) {
    const opening = await middleware.startTurn?.(turn);
    notices.push(...(opening?.notices ?? []));
    events.push(...(opening?.events ?? []));
  }
  return { notices, events };
}

export async function verdictOf(chain: readonly Middleware[], turn: TurnView): Promise<TurnVerdict> {
  for (const middleware of chain) {
    const verdict = await middleware.finishTurn?.(turn);
    if (verdict && verdict.kind !== 'end') return verdict;
  }
  return { kind: 'end' };
}

/** The end of a turn with its answer in its final form, where it has an answer. */
export async function shapedEnd(chain: readonly Middleware[], turn: TurnView, end: TurnEnd): Promise<TurnEnd> {
  if (end.status !== 'completed' && end.status !== 'limit') return end;
  for (const middleware of chain) {
    const shaped = await middleware.shapeAnswer?.(turn, end.answer);
    if (shaped) return { ...end, ...shaped };
  }
  return end;
}
