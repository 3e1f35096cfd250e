import type { Flags } from '../command.ts';
import { settingsFlags } from '../settings-flags.ts';

export const workerFlags = {
  concurrency: { type: 'integer', value: 'N', doc: 'sessions that run at once here (default engine.concurrency, 8)' },
  once: { type: 'boolean', doc: 'run everything that waits and what that wakes, then end' },
  tag: {
    type: 'string',
    value: 'TAG',
    many: true,
    doc: 'run sessions with this tag, too; may be given more than once',
  },
  workspace: { type: 'string', value: 'FOLDER', doc: 'sessions without a tag work in this folder' },
  'health-port': { type: 'integer', min: 0, value: 'PORT', doc: 'serve /healthz, /readyz and /metrics on this port' },
  'health-host': { type: 'string', value: 'ADDRESS', doc: 'address to serve them on (default 127.0.0.1)' },
  name: { type: 'string', value: 'NAME', doc: 'what logs and metrics call it (default host-pid)' },
  grace: {
    type: 'duration',
    value: 'DURATION',
    doc: 'how long steps may go on after a signal to end (default 30s)',
  },
  quiet: { type: 'boolean', short: 'q', doc: 'no line for every run' },
  ...settingsFlags,
} as const satisfies Flags;
