import { BrokerError } from '../base/errors/broker-error.js';
import { byteaArray, int4Array, int8Array, textArray } from '../raw-sql/binary-array.js';
import { procedure, scalarProcedure } from '../raw-sql/procedure.js';
import { HASH_BYTES } from '../segment/transaction-hash.js';
import type { AckStatus } from './ack-item.js';
import type { CursorMove } from './flush/cursor-move.js';

/** Messages of one cursor that are done, by transactionId. */
export interface HashCompletion {
  readonly partitionId: string;
  readonly group: string;
  /** The lease's owner; '' for an ack without a lease. */
  readonly worker: string;
  /** 16 bytes per item. */
  readonly hashes: Buffer;
}

export interface AckByHashArgs extends HashCompletion {
  /** One per item; null: all are done. */
  readonly statuses: readonly AckStatus[] | null;
}

export type AckOutcome = { ok: false; error?: string } | AckedOutcome;

export interface AckedOutcome {
  ok: true;
  /** How far the cursor moved. */
  acked: number;
  /** Where the cursor stands; with `dlq` the offset of the message to put aside. */
  off: number;
  /** Lower-case hex of the hashes, as are the others. Completed before this ack. */
  noopHashes: string[];
  /** Refused, and completed before this ack. */
  staleHashes: string[];
  /** Nowhere in the window. */
  unresolvedHashes: string[];
  dlq?: true;
  /** The message was stepped over: its queue keeps no dead letters. */
  dropped?: true;
  /** An ack without a lease that named more than there is. */
  capped?: true;
}

export const logAckByHashV1 = scalarProcedure<AckByHashArgs, AckOutcome>({
  name: 'log_ack_by_hash_v1',
  parameterTypes: ['uuid', 'text', 'text', 'bytea[]', 'text[]'],
  values: (args) => [
    args.partitionId,
    args.group,
    args.worker,
    byteaArray(slicesOf(args.hashes)),
    args.statuses === null ? null : textArray(args.statuses),
  ],
  row: ([result]) => checkOutcome(result as AckOutcome),
});

/** Outcomes in the order of the acks; each has yet to go through checkOutcome. */
export const logAckByHashMultiV1 = scalarProcedure<readonly HashCompletion[], AckOutcome[]>({
  name: 'log_ack_by_hash_multi_v1',
  parameterTypes: ['text[]', 'text[]', 'text[]', 'int[]', 'bytea[]'],
  values: (acks) => [
    textArray(acks.map(({ partitionId }) => partitionId)),
    textArray(acks.map(({ group }) => group)),
    textArray(acks.map(({ worker }) => worker)),
    int4Array(acks.map(({ hashes }) => hashes.length / HASH_BYTES)),
    byteaArray(acks.flatMap(({ hashes }) => slicesOf(hashes))),
  ],
  row: ([result]) => (result as { results: AckOutcome[] }).results,
});

/** @throws BrokerError `offset_too_large` when the cursor stands where no number can say it */
export function checkOutcome(outcome: AckOutcome): AckOutcome {
  if (outcome.ok && !Number.isSafeInteger(outcome.off)) throw new BrokerError('offset_too_large');
  return outcome;
}

export interface CursorMoveResult {
  ok: boolean;
  error?: string | null;
}

export const logAckAtV1 = scalarProcedure<CursorMove, CursorMoveResult>({
  name: 'log_ack_at_v1',
  parameterTypes: ['uuid', 'text', 'text', 'bigint', 'boolean', 'int'],
  values: (move) => [move.partitionId, move.group, move.worker, move.batchEnd, true, move.count],
});

/** Results in the order of the moves. */
export const logAckMultiV1 = scalarProcedure<readonly CursorMove[], CursorMoveResult[]>({
  name: 'log_ack_multi_v1',
  parameterTypes: ['text[]', 'text[]', 'bigint[]', 'text[]', 'int[]'],
  values: (moves) => [
    textArray(moves.map(({ partitionId }) => partitionId)),
    textArray(moves.map(({ group }) => group)),
    int8Array(moves.map(({ batchEnd }) => batchEnd)),
    textArray(moves.map(({ worker }) => worker)),
    int4Array(moves.map(({ count }) => count)),
  ],
  row: ([result]) => (result as { results: CursorMoveResult[] }).results,
});

export interface DeadLetterArgs {
  partitionId: string;
  group: string;
  worker: string;
  offset: number;
  /** Null when the stored message could not be read, as are the two that follow. */
  messageId: string | null;
  transactionId: string | null;
  /** Raw JSON text as it was pushed. */
  payload: string | null;
  reason: string;
  /** Raw text of an object of strings. */
  headers: string | null;
  traceId: string | null;
  producerSub: string | null;
  /** The payload is an envelope. */
  encrypted: boolean;
}

export const logDlqHeadV2 = scalarProcedure<DeadLetterArgs, { ok: boolean; error?: string }>({
  name: 'log_dlq_head_v2',
  parameterTypes: [
    ...['uuid', 'text', 'text', 'bigint', 'uuid', 'text', 'text', 'text'],
    ...['text', 'uuid', 'text', 'boolean'],
  ],
  values: (args) => [
    args.partitionId,
    args.group,
    args.worker,
    args.offset,
    args.messageId,
    args.transactionId,
    args.payload,
    args.reason,
    args.headers,
    args.traceId,
    args.producerSub,
    args.encrypted,
  ],
});

export interface SegmentRow {
  base: number;
  end: number;
  blob: Buffer;
}

/** The segment that covers an offset; no row when there is none any more. */
export const logSegmentAtV1 = procedure<{ partitionId: string; offset: number }, SegmentRow>({
  name: 'log_segment_at_v1',
  parameterTypes: ['uuid', 'bigint'],
  values: ({ partitionId, offset }) => [partitionId, offset],
  row: ([base, end, , blob]) => ({ base: base as number, end: end as number, blob: blob as Buffer }),
});

export interface PartitionQueue {
  tenant: string;
  queue: string;
  partition: string;
}

/** No row when there is no such partition. */
export const partitionQueueV1 = procedure<string, PartitionQueue>({
  name: 'partition_queue_v1',
  parameterTypes: ['uuid'],
  values: (partitionId) => [partitionId],
  row: ([tenant, queue, partition]) => ({
    tenant: tenant as string,
    queue: queue as string,
    partition: partition as string,
  }),
});

function slicesOf(hashes: Buffer): Buffer[] {
  const slices: Buffer[] = [];
  for (let at = 0; at < hashes.length; at += HASH_BYTES) slices.push(hashes.subarray(at, at + HASH_BYTES));
  return slices;
}
