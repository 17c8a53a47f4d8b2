import { run, scalar, TENANT, type Target } from './calls.js';

/** The partition named by $1 (queue) and $2 (partition). */
export const THIS_PARTITION = `(
  select p.id from queen.log_partitions p join queen.queues q on q.id = p.queue_id
  where q.tenant_id = '${TENANT}' and q.name = $1 and p.name = $2)`;

export interface PartitionRow {
  id: string;
  queueId: string;
  lastOffset: number;
  logStart: number;
  txnsStart: number;
  /** With all six digits of the second. */
  lastWriteAt: string;
}

export async function partitionRow(
  on: Target,
  queue: string,
  partition: string,
): Promise<PartitionRow | null> {
  const select = `select *, last_write_at::text as written from queen.log_partitions where id = ${THIS_PARTITION}`;
  const [row] = await run(on, [select, [queue, partition]]);
  if (row === undefined) return null;
  return {
    id: row.id as string,
    queueId: row.queue_id as string,
    lastOffset: Number(row.last_offset),
    logStart: Number(row.log_start),
    txnsStart: Number(row.txns_start),
    lastWriteAt: row.written as string,
  };
}

export async function partitionId(on: Target, queue: string, partition: string): Promise<string> {
  const row = await partitionRow(on, queue, partition);
  if (row === null) throw new Error(`no partition ${queue} / ${partition}`);
  return row.id;
}

export interface ConsumerRow {
  committed: number;
  batchEnd: number | null;
  workerId: string | null;
  leaseExpiresAt: Date | null;
  leaseAcquiredAt: Date | null;
  /** By the database's clock. */
  leaseSecondsLeft: number | null;
  retryCount: number;
  attemptOffset: number | null;
  attemptEnd: number | null;
  attemptCount: number;
  totalConsumed: number;
}

/** The cursor of (partition, group), null when there is none. */
export async function consumerRow(
  on: Target,
  queue: string,
  partition: string,
  group = 'g',
): Promise<ConsumerRow | null> {
  const select = `
    select *, extract(epoch from lease_expires_at - clock_timestamp())::float8 as seconds_left
    from queen.log_consumers where partition_id = ${THIS_PARTITION} and consumer_group = $3`;
  const [row] = await run(on, [select, [queue, partition, group]]);
  if (row === undefined) return null;
  return {
    committed: Number(row.committed),
    batchEnd: numberOf(row.batch_end),
    workerId: row.worker_id as string | null,
    leaseExpiresAt: row.lease_expires_at as Date | null,
    leaseAcquiredAt: row.lease_acquired_at as Date | null,
    leaseSecondsLeft: row.seconds_left as number | null,
    retryCount: row.batch_retry_count as number,
    attemptOffset: numberOf(row.attempt_offset),
    attemptEnd: numberOf(row.attempt_end),
    attemptCount: row.attempt_count as number,
    totalConsumed: Number(row.total_consumed),
  };
}

export interface SegmentRow {
  base: number;
  end: number;
  /** With all six digits of the second. */
  createdAt: string;
  /** Hex of the blob, or of the hashes. */
  bytes: string;
}

/** The live segments, or with `log_txns` the hash rows, in offset order. */
export async function segmentRows(
  on: Target,
  queue: string,
  partition: string,
  table: 'log_segments' | 'log_txns' = 'log_segments',
): Promise<SegmentRow[]> {
  const bytes = table === 'log_segments' ? 'blob' : 'hashes';
  const select = `
    select base_offset, end_offset, created_at::text as created_at, encode(${bytes}, 'hex') as bytes
    from queen.${table} where partition_id = ${THIS_PARTITION} order by base_offset`;
  const rows = await run(on, [select, [queue, partition]]);
  return rows.map((row) => ({
    base: Number(row.base_offset),
    end: Number(row.end_offset),
    createdAt: row.created_at as string,
    bytes: row.bytes as string,
  }));
}

/** Rows that satisfy a condition: `countRows(db, 'log_dlq')`, `countRows(db, 'queues', 'name = $1', ['q'])`. */
export async function countRows(
  on: Target,
  table: string,
  where = 'true',
  values: unknown[] = [],
): Promise<number> {
  return scalar<number>(on, [`select count(*)::int from queen.${table} where ${where}`, values]);
}

/** bigint as a number; null stays null. */
export function numberOf(value: unknown): number | null {
  return value === null ? null : Number(value);
}
