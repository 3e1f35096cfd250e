import type { Flags } from '../command.ts';
import { turnFlags } from '../run-flags.ts';
import { settingsFlags } from '../settings-flags.ts';

export const serveFlags = {
  port: { type: 'integer', min: 0, value: 'PORT', doc: 'port to listen on; 0 for any that is free (default 4000)' },
  host: { type: 'string', value: 'ADDRESS', doc: 'address to listen on (default 127.0.0.1); others need a token' },
  token: {
    type: 'string',
    value: 'TOKEN',
    doc: 'what requests must bring; others on this machine see it here, so better set REASONIX_SERVE__TOKEN',
  },
  model: { ...turnFlags.model, doc: 'model of new sessions: provider/model, a model, or a provider' },
  allow: turnFlags.allow,
  ...settingsFlags,
} as const satisfies Flags;
