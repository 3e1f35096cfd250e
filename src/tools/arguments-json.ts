/**
 * The value of a call's arguments. No text and `null` mean no arguments; a JSON text that holds JSON text
 * again is unwrapped, since models do that.
 * @throws SyntaxError for what is no JSON.
 */
export function parseArgumentsJson(text: string): unknown {
  if (text.trim() === '') return {};
  let value: unknown = JSON.parse(text);
  if (typeof value === 'string') value = JSON.parse(value);
  return value ?? {};
}
