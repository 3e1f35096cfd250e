// @ts-check

/**
 * A line of the table: what was measured, of ours and of whatever it is held against.
 * @typedef {object} Line
 * @property {string} what
 * @property {string} ours
 * @property {string} [against] what the ratio is to
 * @property {number} [ratio] ours to that
 * @property {string} [target]
 * @property {boolean} [ok] absent when there is no target
 * @property {Record<string, string>} [others] everybody else's figures
 */

/** @param {number} value */
export const ms = (value) => `${value < 10 ? value.toFixed(2) : value.toFixed(value < 100 ? 1 : 0)} ms`;

/** @param {number} value */
export const bytes = (value) => `${Math.round(value).toLocaleString('en')} B`;

/** @param {readonly Line[]} lines */
export function table(lines) {
  const rows = lines.map(({ what, ours, against = '', ratio, target = '', ok }) => [
    what,
    ours,
    against,
    ratio === undefined ? '' : `${ratio.toFixed(2)} ×`,
    target,
    ok === undefined ? '' : ok ? '✓' : '✗',
  ]);
  const all = [['what', 'ours', 'against', 'ratio', 'target', ''], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  const text = (/** @type {string[]} */ row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return all.flatMap((row, index) => {
    const others = index === 0 ? undefined : lines[index - 1]?.others;
    const list = Object.entries(others ?? {}).map(([name, value]) => `${name} ${value}`);
    return list.length === 0 ? [text(row)] : [text(row), `    ${list.join(' · ')}`];
  });
}
