import { hashTransactionIds } from '../../src/segment/transaction-hash.js';
import { blobOf, scalar, TENANT, type Call, type Target } from './calls.js';

export interface TransactionPush {
  queue: string;
  partition: string;
  /** One message each: its transactionId, and as a JSON string its payload. */
  texts: readonly string[];
  verified?: number;
}

export interface TransactionAck {
  partitionId: string;
  group?: string;
  /** Null: whatever the procedure finds out. */
  worker?: string | null;
  texts: readonly string[];
  /** Null: all completed. */
  statuses?: readonly string[] | null;
}

export interface TransactionInput {
  pushes?: readonly TransactionPush[];
  acks?: readonly TransactionAck[];
  leases?: readonly string[];
  tenant?: string;
}

export function transactionCall({
  pushes = [],
  acks = [],
  leases = [],
  tenant = TENANT,
}: TransactionInput): Call {
  return [
    'select queen.log_transaction_wire_v1($1, $2, $3) as result',
    [
      JSON.stringify({
        _tenant: tenant,
        leases,
        pushes: pushes.map(({ queue, partition, texts, verified = -1 }) => ({
          ...{ queue, partition, verified },
          count: texts.length,
        })),
        acks: acks.map(({ partitionId, group = 'g', worker = null, statuses = null }) => ({
          ...{ partitionId, group, worker, statuses },
        })),
      }),
      [...pushes, ...acks].map(({ texts }) => hashTransactionIds(texts)),
      pushes.map(({ texts }) => blobOf(texts)),
    ],
  ];
}

export interface TransactionDone {
  ok: true;
  pushes: { status: string; baseOffset: number; createdAt: string }[];
  acks: Record<string, unknown>[];
}

export function transact(on: Target, input: TransactionInput): Promise<TransactionDone> {
  return scalar<TransactionDone>(on, transactionCall(input));
}
