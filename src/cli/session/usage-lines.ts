import { costText, fullCount, plural } from '../format.ts';
import { type Paint, printableLine, table } from '../terminal.ts';
import type { BrokenBy, StepUsage, Totals, UsageReport } from './usage.ts';

const BROKEN: Readonly<Record<BrokenBy, string>> = {
  compaction: 'the context was compacted',
  model: 'another model answered',
  pause: 'more than five minutes had passed',
  unknown: 'for a reason that the log does not tell',
};

/** Usage for people: sums, and where a cached prefix was lost; with `isFull` a line a step. */
export function usageLines(
  report: UsageReport,
  { columns, paint, isFull }: { columns: number | undefined; paint: Paint; isFull: boolean },
): string[] {
  const { steps, own, children, total } = report;
  const sums: [string, Totals][] = [
    ['own', own],
    ['sub-agents', children],
    ['total', total],
  ];
  const shown = children.usage.input === 0 && children.usage.output === 0 ? sums.slice(0, 1) : sums;
  const broken = steps.flatMap(({ step, broken_by }) => (broken_by === null ? [] : [{ step, broken_by }]));
  return [
    plural(steps.length, 'step'),
    '',
    ...table(
      HEAD,
      shown.map(([name, sum]) => [name, ...figuresOf(sum)]),
      columns,
    ),
    ...(broken.length > 0 ? ['', 'Lost from the cache:'] : []),
    ...broken.map(({ step, broken_by }) => paint('dim', `step ${step}: ${BROKEN[broken_by]}`)),
    ...(isFull && steps.length > 0 ? ['', ...stepTable(steps, columns)] : []),
  ];
}

const HEAD = ['', 'INPUT', 'CACHED', 'HIT', 'WRITTEN', 'OUTPUT', 'REASONING', 'COST'];

function stepTable(steps: readonly StepUsage[], columns: number | undefined): string[] {
  const rows = steps.map((step) => {
    const instead = step.fallback_from === null ? '' : ` for ${printableLine(step.fallback_from)}`;
    return [String(step.step), ...figuresOf(step), `${printableLine(step.model)}${instead}`];
  });
  return table(['STEP', ...HEAD.slice(1), 'MODEL'], rows, columns);
}

function figuresOf({ usage, cost, hit_share }: Totals): string[] {
  const { input, output, cache_read, cache_write, reasoning } = usage;
  const counts = [cache_write, output, reasoning].map(fullCount);
  const price = cost === null ? 'unknown' : cost === 0 ? '0' : costText(cost).replace(/^cost /, '');
  return [fullCount(input), fullCount(cache_read), `${Math.round(hit_share * 100)}%`, ...counts, price];
}
