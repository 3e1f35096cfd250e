import type { Field } from '../front-matter.ts';

/** What YAML readers with types take for something else than text. */
const TYPED =
  /^(?:[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:e[-+]?\d+)?|0[xo][\da-f]+|[-+]?\.(?:inf|nan)|true|false|yes|no|on|off|null|~|\d{4}-\d\d-\d\d(?:[T ].*)?)$/i;

/** Whether a plain value is a number, a flag, nothing or a date to other programs. */
export const isTypedScalar = ({ raw, value }: Pick<Field, 'raw' | 'value'>): boolean =>
  typeof value === 'string' && TYPED.test(raw.trim());
