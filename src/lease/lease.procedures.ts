import { uuidArray } from '../raw-sql/binary-array.js';
import { scalarProcedure } from '../raw-sql/procedure.js';

export interface RenewArgs {
  worker: string;
  seconds: number;
  /** The partitions the worker holds; null looks through all cursors. */
  partitionIds: readonly string[] | null;
  /** Tenant whose partitions alone are renewed; null: anybody's. */
  owner: string | null;
}

export interface Renewal {
  renewed: number;
  /** The earliest end among the renewed leases, ISO with microseconds; null when none was. */
  expiresAt: string | null;
}

export const logRenewLeaseV1 = scalarProcedure<RenewArgs, Renewal>({
  name: 'log_renew_lease_v1',
  parameterTypes: ['text', 'int', 'uuid[]', 'uuid'],
  values: ({ worker, seconds, partitionIds, owner }) => [
    worker,
    seconds,
    partitionIds && uuidArray(partitionIds),
    owner,
  ],
});
