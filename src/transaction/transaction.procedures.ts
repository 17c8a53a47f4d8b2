import type { AckGroup } from '../ack/ack-group.js';
import type { AckedOutcome } from '../ack/ack.procedures.js';
import type { PushSegmentArgs, PushVerdict } from '../push/push.procedures.js';
import { byteaArray } from '../raw-sql/binary-array.js';
import { scalarProcedure } from '../raw-sql/procedure.js';

export interface TransactionArgs {
  readonly tenant: string;
  readonly leases: readonly string[];
  readonly segments: readonly PushSegmentArgs[];
  readonly acks: readonly AckGroup[];
  /** 16 bytes per ack of the group, one buffer per group. */
  readonly ackHashes: readonly Buffer[];
}

/** What an ack did, and where. */
export interface TransactionAck extends AckedOutcome {
  readonly queue: string;
  readonly partition: string;
  /** Whose lease it acted under; '' for none. */
  readonly worker: string;
  /** The batch is still out. */
  readonly leased: boolean;
}

export interface CommittedTransaction {
  /** One per segment; a duplicate is an exception. */
  readonly pushes: readonly PushVerdict[];
  /** One per ack group. */
  readonly acks: readonly TransactionAck[];
}

export const logTransactionWireV1 = scalarProcedure<TransactionArgs, CommittedTransaction>({
  name: 'log_transaction_wire_v1',
  parameterTypes: ['jsonb', 'bytea[]', 'bytea[]'],
  values: ({ tenant, leases, segments, acks, ackHashes }) => [
    JSON.stringify({
      _tenant: tenant,
      leases,
      pushes: segments.map(({ target, count, verified }) => ({
        queue: target.queue,
        partition: target.partition,
        count,
        verified,
      })),
      acks: acks.map(({ partitionId, group, worker, isCompletion, items }) => ({
        partitionId,
        group,
        worker: worker === '' ? null : worker,
        statuses: isCompletion ? null : items.map(({ status }) => status),
      })),
    }),
    byteaArray([...segments.map(({ hashes }) => hashes), ...ackHashes]),
    byteaArray(segments.map(({ blob }) => blob)),
  ],
});
