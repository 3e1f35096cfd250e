import { ReasonixError } from '../core/errors.ts';
import { HELPERS } from './scripted-helpers.ts';

/** What an expression yields; `undefined` when there is nothing, which `default` can replace. */
export type TemplateValue = string | number | string[] | undefined;

/** The data of a template, by the names that stand in `docs/scripted-model.md`. */
export type TemplateScope = (path: readonly string[]) => TemplateValue;

/** A text with `{{…}}` in it, read once and rendered often. */
export interface Template {
  /** The text; what is inserted is never read again as a template. */
  text(scope: TemplateScope): string;
  /** Like `text`, but a template that is one `{{…}}` and nothing else keeps its number or list. */
  value(scope: TemplateScope): string | number | string[];
}

type Expression = (scope: TemplateScope) => TemplateValue;

const TOKEN =
  /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(-?\d+(?:\.\d+)?)|([A-Za-z_][\w-]*(?:\.[\w-]+)*)|(\}\}|[|()]))/y;

/**
 * Reads a template. `\{{` stands for two literal braces.
 * @throws ReasonixError `config` for a text that is none.
 */
export function compileTemplate(source: string): Template {
  const parts: (string | { source: string; read: Expression })[] = [];
  let position = 0;
  for (;;) {
    const open = source.indexOf('{{', position);
    if (open < 0) break;
    if (source[open - 1] === '\\') {
      parts.push(`${source.slice(position, open - 1)}{{`);
      position = open + 2;
      continue;
    }
    if (open > position) parts.push(source.slice(position, open));
    const parser = new ExpressionParser(source, open + 2);
    const read = parser.pipeline('}}');
    parts.push({ source: source.slice(open, parser.position), read });
    position = parser.position;
  }
  if (position < source.length) parts.push(source.slice(position));

  const evaluate = (part: { source: string; read: Expression }, scope: TemplateScope) => {
    const value = part.read(scope);
    if (value !== undefined) return value;
    throw new ReasonixError('provider', `the script's ${part.source} found nothing`, {
      hint: 'add `| default "…"` where nothing is fine, or look at what the tool really returned',
      details: { retryable: false },
    });
  };
  const text = (scope: TemplateScope): string =>
    parts.map((part) => (typeof part === 'string' ? part : asText(evaluate(part, scope)))).join('');
  const [only] = parts;
  return {
    text,
    value: (scope) => (parts.length === 1 && only && typeof only !== 'string' ? evaluate(only, scope) : text(scope)),
  };
}

/** A list is its items, one a line. */
export function asText(value: TemplateValue): string {
  if (value === undefined) return '';
  return Array.isArray(value) ? value.join('\n') : String(value);
}

class ExpressionParser {
  readonly #source: string;
  position: number;

  constructor(source: string, position: number) {
    this.#source = source;
    this.position = position;
  }

  /** `term | helper argument … | …` up to `end`, which is consumed. */
  pipeline(end: '}}' | ')'): Expression {
    let current = this.#term(this.#next());
    for (;;) {
      const token = this.#next();
      if (token === end) return current;
      if (token !== '|') throw this.#problem(`expected | or ${end} before ${token}`);
      current = this.#helper(current);
    }
  }

  #helper(input: Expression): Expression {
    const name = this.#next();
    const helper = Object.hasOwn(HELPERS, name) ? HELPERS[name] : undefined;
    if (!helper) throw this.#problem(`no helper ${name}; there are ${Object.keys(HELPERS).join(', ')}`);
    const parameters: Expression[] = [];
    for (let token = this.#peek(); !['|', ')', '}}'].includes(token); token = this.#peek()) {
      parameters.push(this.#term(this.#next()));
    }
    return (scope) => {
      const value = input(scope);
      const given = parameters.map((parameter) => parameter(scope));
      if (value === undefined && name !== 'default') return undefined;
      try {
        return helper(value ?? '', given, value === undefined);
      } catch (error) {
        throw this.#problem(`${name}: ${(error as Error).message}`);
      }
    };
  }

  #term(token: string): Expression {
    if (token === '(') return this.pipeline(')');
    if (token.startsWith('"') || token.startsWith("'")) {
      const literal = unquote(token);
      return () => literal;
    }
    if (/^-?\d/.test(token)) {
      const number = Number(token);
      return () => number;
    }
    if (!/^[A-Za-z_]/.test(token)) throw this.#problem(`expected a value before ${token}`);
    const path = token.split('.');
    return (scope) => scope(path);
  }

  #next(): string {
    TOKEN.lastIndex = this.position;
    const match = TOKEN.exec(this.#source);
    if (!match)
      throw this.#problem(`cannot read ${JSON.stringify(this.#source.slice(this.position, this.position + 20))}`);
    this.position = TOKEN.lastIndex;
    return match[0].trim();
  }

  #peek(): string {
    const { position } = this;
    const token = this.#next();
    this.position = position;
    return token;
  }

  #problem(what: string): ReasonixError {
    return new ReasonixError('config', `wrong template in the script: ${what}`, {
      hint: 'docs/scripted-model.md lists the names and helpers',
      details: { template: this.#source, retryable: false },
    });
  }
}

/** `\"`, `\\`, `\n` and `\t` are escapes; any other backslash stays, so that `\d` can be written as it is. */
function unquote(token: string): string {
  return token.slice(1, -1).replace(/\\(["'\\nt])/g, (_, character: string) => {
    if (character === 'n') return '\n';
    return character === 't' ? '\t' : character;
  });
}
