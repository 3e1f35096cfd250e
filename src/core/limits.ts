import { ReasonixError } from './errors.ts';

/** The limits that a turn runs under. Absent means unlimited at this level. */
export interface Limits {
  /** Model calls. */
  steps?: number | undefined;
  /** Prompt and answer tokens, each once. */
  tokens?: number | undefined;
  /** In the currency of the price table. */
  cost?: number | undefined;
  /** Wall-clock milliseconds from the start of the turn. */
  time?: number | undefined;
  /** Child sessions started, over all levels below. */
  spawns?: number | undefined;
  /** Levels of children below. */
  depth?: number | undefined;
}

export type LimitName = keyof Limits;

/** Which limit was reached, how large it was, and who set it. */
export interface LimitHit {
  which: LimitName;
  limit: number;
  setBy: string;
}

/** How large a limit is, with its unit where it has one. */
export const limitText = ({ which, limit }: Pick<LimitHit, 'which' | 'limit'>): string =>
  which === 'time' ? `${limit / 1000} s` : String(limit);

/** How a turn that a limit ended says so. */
export const limitReason = (hit: LimitHit): string =>
  `${hit.which} limit of ${limitText(hit)} reached (set by ${hit.setBy})`;

/** Thrown where a limit leaves no room to go on; the turn then sums up. */
export class LimitReached extends ReasonixError {
  readonly hit: LimitHit;

  constructor(hit: LimitHit, message = `limit reached: ${hit.which} ${limitText(hit)} (set by ${hit.setBy})`) {
    super('limit', message);
    this.hit = hit;
  }
}
