import { ReasonixError } from '../../core/errors.ts';

export interface Drivers {
  bullmq: typeof import('bullmq');
  ioredis: Pick<typeof import('ioredis'), 'Redis'>;
}

/** @throws ReasonixError `config` when a driver is not installed: they are an optional part of the package. */
export async function drivers(): Promise<Drivers> {
  try {
    // The queue needs the driver of Redis, but looks for it only when it connects.
    const ioredis = await import('ioredis');
    return { ioredis, bullmq: await import('bullmq') };
  } catch (error) {
    throw new ReasonixError('config', 'the engine over Redis needs the packages bullmq and ioredis: one is missing', {
      hint: 'npm install bullmq ioredis',
      cause: error,
    });
  }
}
