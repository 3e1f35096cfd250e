/** One sample: its labels, and its value. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** Lines of one metric in the text format of Prometheus. */
export function metricText(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  samples: readonly Sample[] | number,
): string {
  const all: readonly Sample[] = typeof samples === 'number' ? [[{}, samples]] : samples;
  return [head(name, type, help), ...all.map(([labels, value]) => `${name}${labelText(labels)} ${value}\n`)].join('');
}

/** Counts by the values of one label. Its values are a closed list, so that every series is there from the start. */
export class Counter<Value extends string> {
  readonly #counts: Map<Value, number>;
  readonly #label: string;

  constructor(label: string, values: readonly Value[]) {
    this.#label = label;
    this.#counts = new Map(values.map((value) => [value, 0]));
  }

  add(value: Value, by = 1): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + by);
  }

  text(name: string, help: string): string {
    const samples = [...this.#counts].map(([value, count]) => [{ [this.#label]: value }, count] as const);
    return metricText(name, 'counter', help, samples);
  }
}

/** How many values were at most as large as each bound. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count++;
    for (const [index, bound] of this.#bounds.entries()) if (value <= bound) this.#counts[index]!++;
  }

  text(name: string, help: string): string {
    const buckets = this.#bounds.map((bound, index) => `${name}_bucket{le="${bound}"} ${this.#counts[index]}\n`);
    const last = `${name}_bucket{le="+Inf"} ${this.#count}\n`;
    return `${head(name, 'histogram', help)}${buckets.join('')}${last}${name}_sum ${this.#sum}\n${name}_count ${this.#count}\n`;
  }
}

const head = (name: string, type: string, help: string): string => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;

function labelText(labels: Readonly<Record<string, string>>): string {
  const all = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return all.length === 0 ? '' : `{${all.join(',')}}`;
}

const escapeLabel = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
