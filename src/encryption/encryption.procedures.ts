import { procedure } from '../raw-sql/procedure.js';

export interface EncryptedQueue {
  tenant: string;
  queue: string;
}

export const encryptedQueuesV1 = procedure<void, EncryptedQueue>({
  name: 'encrypted_queues_v1',
  parameterTypes: [],
  values: () => [],
  row: ([tenant, queue]) => ({ tenant: tenant as string, queue: queue as string }),
});
