import { monitorEventLoopDelay } from 'node:perf_hooks';
import { ReasonixError } from '../../core/errors.ts';
import type { EventOf } from '../../core/events.ts';
import type { JobCounts } from '../../engines/engine.ts';
import type { RunEnd } from '../../runtime/worker.ts';
import type { Observation } from '../../session/host.ts';
import { Counter, Histogram, metricText } from './metrics-text.ts';

/** Upper ends of the histogram of run times, in seconds. */
const RUN_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

/** What a worker is asked about at the moment of a scrape. */
export interface Now {
  running: number;
  concurrency: number;
  /** Sessions that cannot be run here. */
  unfit: number;
  /** Absent while the engine does not answer. */
  jobs: JobCounts | undefined;
  isUp: Readonly<Record<'store' | 'engine', boolean>>;
}

/**
 * What a worker did since it started, for Prometheus. No label holds what users name, such as sessions,
 * skills or tools: there is no end of those.
 */
export class WorkerMetrics {
  readonly #identity: Readonly<Record<string, string>>;
  readonly #runs = new Counter('outcome', ['ended', 'parked', 'busy', 'unfit', 'failed']);
  readonly #runSeconds = new Histogram(RUN_SECONDS);
  readonly #turns = new Counter<EventOf<'turn.ended'>['status']>('status', [
    'completed',
    'failed',
    'cancelled',
    'limit',
    'no_answer',
  ]);
  readonly #tokens = new Counter('kind', ['input', 'output', 'cache_read', 'cache_write', 'reasoning']);
  readonly #tools = new Counter('outcome', ['ok', 'error']);
  #modelCalls = 0;
  #problems = 0;
  #leasesLost = 0;
  readonly #loopDelay = monitorEventLoopDelay({ resolution: 20 });

  constructor(identity: { name: string; version: string }) {
    this.#identity = identity;
    this.#loopDelay.enable();
  }

  ran({ outcome, error }: RunEnd, seconds: number): void {
    this.#runs.add(outcome);
    if (outcome !== 'busy' && outcome !== 'unfit') this.#runSeconds.observe(seconds);
    if (ReasonixError.isInstance(error, 'stale_writer')) this.#leasesLost++;
  }

  problem(): void {
    this.#problems++;
  }

  observe(observation: Observation): void {
    if (observation.kind !== 'event') return;
    const { event } = observation;
    if (event.type === 'turn.ended') this.#turns.add(event.status);
    else if (event.type === 'tool.result') this.#tools.add(event.isError ? 'error' : 'ok');
    else if (event.type === 'assistant.message' && event.finishReason !== 'host') {
      this.#modelCalls++;
      for (const kind of ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const) {
        this.#tokens.add(kind, event.usage[kind]);
      }
    }
  }

  /** The text of a scrape. */
  text({ running, concurrency, unfit, jobs, isUp }: Now): string {
    const { rss, heapUsed } = process.memoryUsage();
    const cpu = process.cpuUsage();
    const lag = { mean: this.#loopDelay.mean, p99: this.#loopDelay.percentile(99), max: this.#loopDelay.max };
    this.#loopDelay.reset();
    const up = Object.entries(isUp).map(([service, yes]) => [{ service }, yes ? 1 : 0] as const);
    const states = Object.entries(jobs ?? {}).map(([state, count]) => [{ state }, Number(count)] as const);
    const lags = Object.entries(lag).map(
      ([stat, value]) => [{ stat }, (Number.isFinite(value) ? value : 0) / 1e9] as const,
    );
    return [
      metricText('reasonix_worker_info', 'gauge', 'Who this is; always 1.', [[this.#identity, 1]]),
      metricText('reasonix_up', 'gauge', 'Whether a service answers within 2 seconds.', up),
      metricText('reasonix_sessions_running', 'gauge', 'Sessions that run here now.', running),
      metricText('reasonix_concurrency', 'gauge', 'Sessions that may run here at once.', concurrency),
      metricText('reasonix_sessions_unfit', 'gauge', 'Sessions met of late that cannot be run here.', unfit),
      this.#runs.text('reasonix_runs_total', 'Runs of sessions here, by how they ended.'),
      this.#runSeconds.text('reasonix_run_seconds', 'How long runs took that were not left to others.'),
      this.#turns.text('reasonix_turns_total', 'Turns that ended here.'),
      metricText(
        'reasonix_jobs',
        'gauge',
        'Runs of all workers with the tags of this one: waiting, active, put off.',
        states,
      ),
      metricText('reasonix_model_calls_total', 'counter', 'Answers of models.', this.#modelCalls),
      this.#tokens.text('reasonix_tokens_total', 'Tokens of these; input has the cached ones, output the reasoning.'),
      this.#tools.text('reasonix_tool_calls_total', 'Results of tools.'),
      metricText(
        'reasonix_problems_total',
        'counter',
        'Problems that were told, told again ones included.',
        this.#problems,
      ),
      metricText(
        'reasonix_lease_losses_total',
        'counter',
        'Runs that lost their session to another worker.',
        this.#leasesLost,
      ),
      metricText('reasonix_event_loop_lag_seconds', 'gauge', 'Delay of the event loop since the last scrape.', lags),
      metricText('process_resident_memory_bytes', 'gauge', 'Memory of the process.', rss),
      metricText('nodejs_heap_size_used_bytes', 'gauge', 'Memory of its objects.', heapUsed),
      metricText('process_cpu_seconds_total', 'counter', 'Processor time.', (cpu.user + cpu.system) / 1e6),
      metricText(
        'process_start_time_seconds',
        'gauge',
        'When it started, in the time of Unix.',
        Date.now() / 1000 - process.uptime(),
      ),
    ].join('');
  }
}
