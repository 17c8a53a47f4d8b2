import { procedure } from '../raw-sql/procedure.js';
import type { QueueConfig } from './queue-config.js';

export const queueConfigV1 = procedure<{ queue: string; tenant: string }, QueueConfig>({
  name: 'queue_config_v1',
  parameterTypes: ['text', 'uuid'],
  values: (args) => [args.queue, args.tenant],
  row: ([id, leaseSeconds, delayedSeconds, windowSeconds, minPopWaitMs, encryptionEnabled]) => ({
    id: id as string,
    leaseSeconds: leaseSeconds as number,
    delayedMs: (delayedSeconds as number) * 1000,
    windowMs: (windowSeconds as number) * 1000,
    minPopWaitMs: minPopWaitMs as number,
    encryptionEnabled: encryptionEnabled as boolean,
  }),
});
