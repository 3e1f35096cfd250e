/**
 * Makes a thing once for the same arguments, which must be JSON. Tools exist once a working folder;
 * their schemas, which weigh most, once a process.
 */
export function memo<Arguments extends unknown[], Result>(
  make: (...values: Arguments) => Result,
): (...values: Arguments) => Result {
  const made = new Map<string, Result>();
  return (...values) => {
    const key = JSON.stringify(values);
    let result = made.get(key);
    if (result === undefined) {
      result = make(...values);
      made.set(key, result);
    }
    return result;
  };
}
