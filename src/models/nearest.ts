/** At most `count` of `names`, the ones most like `name` first. */
export function nearest(name: string, names: readonly string[], count = 3): string[] {
  const wanted = name.toLowerCase();
  return names
    .map((each) => ({ each, far: distance(wanted, each.toLowerCase()) }))
    .sort((left, right) => left.far - right.far || (left.each < right.each ? -1 : 1))
    .slice(0, count)
    .map(({ each }) => each);
}

/** Edits from one text to the other; a text that holds the other is near. */
function distance(left: string, right: string): number {
  if (left !== '' && (right.includes(left) || left.includes(right))) return Math.abs(left.length - right.length) / 100;
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, substitution));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
