import { editDistance } from '../core/edit-distance.ts';

/** At most `count` of `names`, the ones most like `name` first. */
export function nearest(name: string, names: readonly string[], count = 3): string[] {
  const wanted = name.toLowerCase();
  return names
    .map((each) => ({ each, far: distance(wanted, each.toLowerCase()) }))
    .sort((left, right) => left.far - right.far || (left.each < right.each ? -1 : 1))
    .slice(0, count)
    .map(({ each }) => each);
}

/** A text that holds the other is near. */
function distance(left: string, right: string): number {
  if (left !== '' && (right.includes(left) || left.includes(right))) return Math.abs(left.length - right.length) / 100;
  return editDistance(left, right);
}
