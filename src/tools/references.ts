import { z } from 'zod';

/** References as models write them: a list, or one text with commas or blanks between. */
export const references = z.union([z.array(z.string()), z.string()]).transform((value) => {
  const list = typeof value === 'string' ? value.split(/[\s,]+/) : value;
  return list.filter((reference) => reference !== '');
});
