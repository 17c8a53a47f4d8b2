import type pg from 'pg';

/** Everything the log tables hold at one moment, in one statement. Times are microseconds since 1970. */
export interface Snapshot {
  /** The database's clock, read before the rows. */
  now: number;
  queues: QueueRow[];
  partitions: PartitionRow[];
  segments: RangeRow[];
  hashRows: HashRow[];
  cursors: CursorRow[];
  subscriptions: SubscriptionRow[];
  watermarks: WatermarkRow[];
  deadLetters: DeadLetterRow[];
}

export interface QueueRow {
  id: string;
  tenant: string;
  name: string;
  namespace: string;
  task: string;
  leaseTime: number;
  retryLimit: number;
  deadLetterQueue: boolean;
  dlqAfterMaxRetries: boolean;
  delayedProcessing: number;
  windowBuffer: number;
  dedupWindowSeconds: number;
}

export interface PartitionRow {
  id: string;
  queueId: string;
  name: string;
  lastOffset: number;
  logStart: number;
  txnsStart: number;
  lastWriteAt: number;
}

export interface RangeRow {
  partitionId: string;
  base: number;
  end: number;
  createdAt: number;
}

export interface HashRow extends RangeRow {
  /** Hex, 32 digits per message. */
  hashes: string;
}

export interface CursorRow {
  partitionId: string;
  group: string;
  committed: number;
  batchEnd: number | null;
  worker: string | null;
  expiresAt: number | null;
  acquiredAt: number | null;
  retryCount: number;
  attemptOffset: number | null;
  attemptEnd: number | null;
  attemptCount: number;
  totalConsumed: number;
}

export interface SubscriptionRow {
  tenant: string;
  queueId: string;
  group: string;
  mode: string;
  at: number;
}

export interface WatermarkRow {
  queueId: string;
  group: string;
  floor: number;
  updatedAt: number;
}

export interface DeadLetterRow {
  partitionId: string;
  group: string;
  offset: number;
  text: string;
  payload: string;
  error: string;
  retryCount: number;
}

const micros = (column: string) => `(extract(epoch from ${column}) * 1000000)::bigint`;

function rows(table: string, columns: Record<string, string>, order: string): string {
  const fields = Object.entries(columns).map(([key, column]) => `'${key}', ${column}`);
  return `(select coalesce(json_agg(json_build_object(${fields.join(', ')}) order by ${order}), '[]')
    from queen.${table})`;
}

const range = {
  partitionId: 'partition_id',
  base: 'base_offset',
  end: 'end_offset',
  createdAt: micros('created_at'),
};

const SELECT = `select json_build_object(
  'now', ${micros('clock_timestamp()')},
  'queues', ${rows(
    'queues',
    {
      ...{ id: 'id', tenant: 'tenant_id', name: 'name', namespace: 'namespace', task: 'task' },
      ...{ leaseTime: 'lease_time', retryLimit: 'retry_limit', deadLetterQueue: 'dead_letter_queue' },
      ...{ dlqAfterMaxRetries: 'dlq_after_max_retries', delayedProcessing: 'delayed_processing' },
      ...{ windowBuffer: 'window_buffer', dedupWindowSeconds: 'dedup_window_seconds' },
    },
    'id',
  )},
  'partitions', ${rows(
    'log_partitions',
    {
      ...{ id: 'id', queueId: 'queue_id', name: 'name', lastOffset: 'last_offset' },
      ...{ logStart: 'log_start', txnsStart: 'txns_start', lastWriteAt: micros('last_write_at') },
    },
    'id',
  )},
  'segments', ${rows('log_segments', range, 'partition_id, base_offset')},
  'hashRows', ${rows('log_txns', { ...range, hashes: `encode(hashes, 'hex')` }, 'partition_id, base_offset')},
  'cursors', ${rows(
    'log_consumers',
    {
      ...{ partitionId: 'partition_id', group: 'consumer_group', committed: 'committed' },
      ...{ batchEnd: 'batch_end', worker: 'worker_id', expiresAt: micros('lease_expires_at') },
      ...{ acquiredAt: micros('lease_acquired_at'), retryCount: 'batch_retry_count' },
      ...{ attemptOffset: 'attempt_offset', attemptEnd: 'attempt_end', attemptCount: 'attempt_count' },
      totalConsumed: 'total_consumed',
    },
    'partition_id, consumer_group',
  )},
  'subscriptions', ${rows(
    'consumer_groups_metadata',
    {
      ...{ tenant: 'tenant_id', queueId: 'queue_id', group: 'consumer_group' },
      ...{ mode: 'subscription_mode', at: micros('subscription_timestamp') },
    },
    'queue_id, consumer_group',
  )},
  'watermarks', ${rows(
    'consumer_watermarks',
    {
      ...{ queueId: 'queue_id', group: 'consumer_group' },
      ...{ floor: micros('last_empty_scan_at'), updatedAt: micros('updated_at') },
    },
    'queue_id, consumer_group',
  )},
  'deadLetters', ${rows(
    'log_dlq',
    {
      ...{ partitionId: 'partition_id', group: 'consumer_group', offset: '"offset"' },
      ...{ text: 'transaction_id', payload: 'payload', error: 'error', retryCount: 'retry_count' },
    },
    'failed_at, id',
  )}) as snapshot`;

export async function takeSnapshot(session: pg.Client): Promise<Snapshot> {
  const { rows: found } = await session.query<{ snapshot: Snapshot }>(SELECT);
  return found[0].snapshot;
}

/** Empties the log. Rows without a foreign key go one by one, everything else with its queue. */
export async function clearLog(session: pg.Client): Promise<void> {
  await session.query('delete from queen.queues; delete from queen.log_txns; delete from queen.log_dlq');
}
