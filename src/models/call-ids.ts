import { shortHash } from '../core/short-hash.ts';

/**
 * The id of a call as a server takes it: as it is, where that has the form that the server wants of ids that
 * others made. The same for a call and its result, in every request.
 */
export function idOfForm(id: string, form: RegExp | undefined): string {
  return form === undefined || form.test(id) ? id : shortHash(id, 9);
}
