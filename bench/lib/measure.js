// @ts-check

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? at(sorted, middle) : (at(sorted, middle - 1) + at(sorted, middle)) / 2;
}

/**
 * @param {readonly number[]} values
 * @param {number} index
 */
function at(values, index) {
  const value = values[index];
  if (value === undefined) throw new RangeError('no values to take a median of');
  return value;
}

/**
 * Runs every contender once a round, each round starting with another one, so that what else the
 * machine does meets all alike. The first round warms up and does not count.
 * @template T
 * @param {number} count
 * @param {readonly string[]} names
 * @param {(name: string) => Promise<T> | T} run
 * @returns {Promise<Map<string, T[]>>}
 */
export async function interleaved(count, names, run) {
  /** @type {Map<string, T[]>} */
  const samples = new Map(names.map((name) => [name, []]));
  for (let round = 0; round <= count; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length] ?? '';
      const sample = await run(name);
      if (round > 0) samples.get(name)?.push(sample);
    }
  }
  return samples;
}
