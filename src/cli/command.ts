/** What a flag takes. Durations come out as milliseconds. */
export type FlagType = 'boolean' | 'string' | 'integer' | 'number' | 'duration';

export interface FlagSpec {
  readonly type: FlagType;
  readonly doc: string;
  /** Least value of an integer; default 1. */
  readonly min?: number;
  /** One letter. */
  readonly short?: string;
  /** Name of the value in help. */
  readonly value?: string;
  readonly choices?: readonly string[];
  /** May be given more than once; comes out as a list. */
  readonly many?: true;
}

export type Flags = Readonly<Record<string, FlagSpec>>;

type ValueOf<Spec extends FlagSpec> = Spec['choices'] extends readonly (infer Choice)[]
  ? Choice
  : Spec['type'] extends 'boolean'
    ? boolean
    : Spec['type'] extends 'string'
      ? string
      : number;

/** Values by the flag's long name; what was not given is absent, a list then is empty. */
export type FlagValues<F extends Flags> = {
  readonly [Name in keyof F as F[Name] extends { many: true } ? Name : never]: readonly ValueOf<F[Name]>[];
} & {
  readonly [Name in keyof F as F[Name] extends { many: true } ? never : Name]?: ValueOf<F[Name]>;
};

/** A command as it was called. */
export interface Invocation<F extends Flags> {
  readonly flags: FlagValues<F>;
  readonly args: readonly string[];
}

/** Does the work and gives the exit code. */
export type Handler<F extends Flags> = (call: Invocation<F>) => Promise<number>;

/** `required` and `optional` take one word; `rest` takes all that is left, `many` at least one. */
export interface ArgSpec {
  readonly name: string;
  readonly kind: 'required' | 'optional' | 'rest' | 'many';
}

export interface Command<F extends Flags = Flags> {
  /** `skill list`: the words that call it. */
  readonly name: string;
  readonly summary: string;
  /** Help below the summary, one paragraph an entry. */
  readonly details?: readonly string[];
  readonly args: readonly ArgSpec[];
  readonly flags: F;
  /** Without the leading `reasonix`. */
  readonly examples: readonly string[];
  /** Imported when the command runs, so that every other one starts without it. */
  load(): Promise<Handler<F>>;
}

/** Gives a command its type; the table holds commands of all kinds of flags. */
export const command = <F extends Flags>(definition: Command<F>): Command => definition as unknown as Command;
