import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EvalCase } from './evals.ts';
import type { CaseRun, FinishedRun, SkillTestReport } from './test-skill.ts';
import { keepOutputs } from './work-folder.ts';

/**
 * Writes results as the published format lays them out, so that other programs can read them:
 * `eval-<id>/{with_skill,without_skill}/{outputs/,timing.json,grading.json}` and `benchmark.json`.
 */
export class PublishedFiles {
  readonly #folder: string;
  readonly #names: ReadonlyMap<string, string>;

  constructor(folder: string, cases: readonly EvalCase[]) {
    this.#folder = folder;
    this.#names = folderNames(cases.map(({ id }) => id));
  }

  async addRun({ case: { id }, variant, run, folder }: FinishedRun): Promise<void> {
    const path = join(this.#folder, this.#names.get(id) ?? id, `${variant}_skill`);
    await mkdir(path, { recursive: true });
    const outputs = join(path, 'outputs');
    await keepOutputs(folder, outputs);
    await writeFile(join(outputs, 'answer.md'), run.answer);
    await writeJson(join(path, 'timing.json'), { total_tokens: run.tokens, duration_ms: run.ms });
    await writeJson(join(path, 'grading.json'), grading(run));
  }

  async addReport({ cases }: SkillTestReport): Promise<void> {
    const own = cases.map((each) => each.with);
    const without = cases.flatMap((each) => each.without ?? []);
    const [of, base] = [summary(own), summary(without)];
    await writeJson(join(this.#folder, 'benchmark.json'), {
      run_summary: { with_skill: of, ...(without.length > 0 ? { without_skill: base, delta: delta(of, base) } : {}) },
    });
  }
}

function grading({ assertions }: CaseRun): Record<string, unknown> {
  const passed = assertions.filter((each) => each.passed === true).length;
  const failed = assertions.filter((each) => each.passed === false).length;
  const total = passed + failed;
  return {
    assertion_results: assertions,
    summary: {
      passed,
      failed,
      total,
      pass_rate: total > 0 ? passed / total : null,
      not_graded: assertions.length - total,
    },
  };
}

interface Statistic {
  mean: number;
  stddev: number;
}
interface Summary {
  /** `null` when nothing was graded. */
  pass_rate: Statistic | null;
  time_seconds: Statistic | null;
  tokens: Statistic | null;
}

function summary(runs: readonly CaseRun[]): Summary {
  const rates = runs.flatMap(({ assertions }) => {
    const graded = assertions.filter((each) => each.passed !== null);
    return graded.length > 0 ? [graded.filter((each) => each.passed).length / graded.length] : [];
  });
  return {
    pass_rate: statistic(rates),
    time_seconds: statistic(runs.map(({ ms }) => ms / 1000)),
    tokens: statistic(runs.map(({ tokens }) => tokens)),
  };
}

function statistic(values: readonly number[]): Statistic | null {
  if (values.length === 0) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { mean: rounded(mean), stddev: rounded(Math.sqrt(variance)) };
}

function delta(of: Summary, base: Summary): Record<string, number | null> {
  const keys = ['pass_rate', 'time_seconds', 'tokens'] as const;
  return Object.fromEntries(
    keys.map((key) => {
      const [one, other] = [of[key], base[key]];
      return [key, one && other ? rounded(one.mean - other.mean) : null];
    }),
  );
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

/** A folder for each id, which may hold any sign: two that would share one get a number. */
function folderNames(ids: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const id of ids) {
    const bare = `eval-${id.replace(/[^\p{L}\p{N}_-]+/gu, '-').slice(0, 80)}`;
    let name = bare;
    for (let number = 2; taken.has(name.toLowerCase()); number++) name = `${bare}-${number}`;
    taken.add(name.toLowerCase());
    names.set(id, name);
  }
  return names;
}

const writeJson = (path: string, value: unknown): Promise<void> =>
  writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
