import type { Field, Value } from './front-matter.ts';
import { type KeyId, keyInMetadata, keyOf } from './keys.ts';
import type { Diagnostic } from './types.ts';
import { type Reading, readList } from './values.ts';

export type Report = (
  code: string,
  field: Field | undefined,
  message: string,
  severity?: Diagnostic['severity'],
) => void;

const NONE: readonly Field[] = [];

/** All fields of each known key, the canonical spelling first. A header has few of the keys: asking for the others costs nothing. */
export class Occurrences {
  readonly #fields = new Map<KeyId, Field[]>();
  readonly #report: Report;

  constructor(fields: readonly Field[], report: Report) {
    this.#report = report;
    for (const field of fields) this.#add(keyOf(field.key), field);
    for (const [id, found] of this.#fields) {
      if (found.length > 1) {
        found.sort((a, b) => Number(b.key === id) - Number(a.key === id));
        const spellings = found.map((field) => `"${field.key}"`).join(', ');
        report('duplicate-key', found[1], `${id} is written ${found.length} times (${spellings})`);
      }
    }
    for (const field of this.of('metadata')) this.#addNested(field);
  }

  get size(): number {
    return this.#fields.size;
  }

  of(id: KeyId): readonly Field[] {
    return this.#fields.get(id) ?? NONE;
  }

  #add(id: KeyId | undefined, field: Field): void {
    if (id === undefined) return;
    const found = this.#fields.get(id);
    if (found === undefined) this.#fields.set(id, [field]);
    else found.push(field);
  }

  /** `reasonix.max-steps: 5` and `reasonix: {max-steps: 5}` inside `metadata`. */
  #addNested(metadata: Field): void {
    if (typeof metadata.value === 'string' || Array.isArray(metadata.value)) return;
    for (const [key, value] of Object.entries(metadata.value)) {
      const nested = key.toLowerCase() === 'reasonix' && typeof value === 'object' && !Array.isArray(value);
      const entries = nested
        ? Object.entries(value).map(([inner, each]) => [`reasonix.${inner}`, each] as const)
        : [[key, value] as const];
      for (const [written, each] of entries) {
        const raw = typeof each === 'string' ? each : JSON.stringify(each);
        this.#add(keyInMetadata(written), { key: written, value: each, raw, line: metadata.line });
      }
    }
  }

  text(id: KeyId): string | undefined {
    for (const field of this.of(id)) {
      const isText = typeof field.value === 'string';
      if (!isText && id !== 'argument-hint') {
        this.#report('not-text', field, `${field.key} should be text, but it is a ${kindOf(field.value)}`);
      }
      if (field.cut) {
        const message = `${field.key} ends before " #", which starts a comment: quote the value to keep the rest`;
        this.#report('comment-in-value', field, message);
      }
      const text = (isText ? (field.value as string) : field.raw).trim();
      if (text !== '') return text;
    }
    return undefined;
  }

  list(id: KeyId, separators: 'commas' | 'commas-and-blanks'): string[] {
    if (!this.#fields.has(id)) return [];
    const all = this.of(id).flatMap((field) => {
      const reading = readList(field.value, separators);
      if (reading.is === 'unreadable' || field.unreadable) this.#unreadable(field, 'it is ignored');
      return reading.is === 'set' ? reading.value : [];
    });
    return [...new Set(all)];
  }

  /** Of everything written, the value that comes first in `order`; that is also what an unreadable one means. */
  strictest<T>(id: KeyId, read: (value: Value) => Reading<T>, order: readonly [T, ...T[]]): T | undefined {
    if (!this.#fields.has(id)) return undefined;
    const values = this.#readings(id, read, order[0]);
    return order.find((value) => values.includes(value));
  }

  /** The smallest number written; an unreadable one counts as `least`. */
  smallest(id: KeyId, read: (value: Value) => Reading<number>, least: number): number | undefined {
    if (!this.#fields.has(id)) return undefined;
    const values = this.#readings(id, read, least);
    return values.length === 0 ? undefined : Math.min(...values);
  }

  #readings<T>(id: KeyId, read: (value: Value) => Reading<T>, narrowest: T): T[] {
    return this.of(id).flatMap((field) => {
      const reading: Reading<T> = field.unreadable ? { is: 'unreadable' } : read(field.value);
      if (reading.is === 'unreadable') this.#unreadable(field, `it counts as ${JSON.stringify(narrowest)}`);
      return reading.is === 'set' ? [reading.value] : reading.is === 'unset' ? [] : [narrowest];
    });
  }

  #unreadable(field: Field, consequence: string): void {
    const source = field.raw.length > 60 ? `${field.raw.slice(0, 60)}…` : field.raw;
    this.#report('unreadable-value', field, `${field.key} cannot be read ("${source.toWellFormed()}"): ${consequence}`);
  }
}

const kindOf = (value: Value): string => (Array.isArray(value) ? 'list' : 'mapping');
