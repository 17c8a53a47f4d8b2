import { encodeSegment } from '../../src/segment/segment.js';
import { hashTransactionId, hashTransactionIds } from '../../src/segment/transaction-hash.js';
import { mintUuids } from '../../src/segment/uuid-v7.js';
import { TestSession } from './sessions.js';

/** The tenant of every call that names none. */
export const TENANT = '00000000-0000-0000-0000-000000000001';
export const OTHER_TENANT = '00000000-0000-0000-0000-000000000002';
/** The group of a pop that names none. */
export const QUEUE_MODE = '__QUEUE_MODE__';

/** A statement and its parameters: `session.start(...popSpecificCall('q', 'p'))`. */
export type Call = [text: string, values: unknown[]];
export type Row = Record<string, unknown>;

/** Whatever runs a statement: a test database, a client of pg, a named session. */
export type Target = TestSession | { query(text: string, values?: unknown[]): Promise<{ rows: Row[] }> };

export async function run(on: Target, [text, values]: Call): Promise<Row[]> {
  if (on instanceof TestSession) return on.run(text, values);
  return (await on.query(text, values)).rows;
}

/** The only column of the only row. */
export async function scalar<T>(on: Target, call: Call): Promise<T> {
  const [row] = await run(on, call);
  return Object.values(row)[0] as T;
}

export interface Pushed {
  status: 'queued' | 'duplicate';
  baseOffset?: number;
  createdAt?: string;
  dups?: { i: number; off: number }[];
}

export interface SegmentInput {
  queue: string;
  partition: string;
  /** One message each: its transactionId, and as a JSON string its payload. */
  texts: readonly string[];
  verified?: number;
  tenant?: string;
}

/** A real blob of the given messages. */
export function blobOf(texts: readonly string[]): Buffer {
  const ids = mintUuids(texts.length, Date.now());
  return encodeSegment(
    texts.map((text, i) => ({
      messageId: ids[i],
      transactionId: Buffer.from(text),
      payload: Buffer.from(JSON.stringify(text)),
      encrypted: false,
    })),
  );
}

export function pushMultiCall(segments: readonly SegmentInput[], withTenants = true): Call {
  return [
    'select queen.log_push_multi_v1($1, $2, $3, $4, $5, $6, $7) as result',
    [
      segments.map(({ queue }) => queue),
      segments.map(({ partition }) => partition),
      segments.map(({ texts }) => texts.length),
      segments.map(({ texts }) => hashTransactionIds(texts)),
      segments.map(({ verified = -1 }) => verified),
      segments.map(({ texts }) => blobOf(texts)),
      withTenants ? segments.map(({ tenant = TENANT }) => tenant) : null,
    ],
  ];
}

export interface PushOneOptions {
  verified?: number | null;
  pid?: string | null;
  window?: number | null;
  tenant?: string;
}

export function pushOneCall(
  queue: string,
  partition: string,
  texts: readonly string[],
  { verified = -1, pid = null, window = null, tenant = TENANT }: PushOneOptions = {},
): Call {
  return [
    'select queen.log_push_one_v1($1, $2, $3, $4, $5, $6, $7, $8, $9) as result',
    [queue, partition, texts.length, hashTransactionIds(texts), verified, blobOf(texts), pid, window, tenant],
  ];
}

export interface PopOptions {
  group?: string;
  worker?: string;
  budget?: number | null;
  /** Null: the queue's lease time. */
  leaseSeconds?: number | null;
  autoAck?: boolean;
  maxPartitions?: number | null;
  mode?: string;
  from?: string;
  skipWindow?: boolean;
  tenant?: string;
}

const popDefaults = {
  group: 'g',
  worker: 'w',
  budget: 100,
  leaseSeconds: 60,
  autoAck: false,
  maxPartitions: 1,
  mode: 'all',
  from: '',
  skipWindow: false,
  tenant: TENANT,
};

export function popV1Call(queue: string, partition: string, options: PopOptions = {}): Call {
  const o = { ...popDefaults, ...options };
  return [
    'select * from queen.log_pop_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    [
      ...[queue, partition, o.group, o.budget, o.leaseSeconds, o.worker, o.autoAck],
      ...[o.mode, o.from, o.skipWindow, o.tenant],
    ],
  ];
}

export function popSpecificCall(queue: string, partition: string, options: PopOptions = {}): Call {
  const o = { ...popDefaults, ...options };
  return [
    'select * from queen.log_pop_specific_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
    [queue, partition, o.group, o.budget, o.leaseSeconds, o.worker, o.autoAck, o.mode, o.from, o.tenant],
  ];
}

export function popWildcardCall(queue: string, options: PopOptions = {}): Call {
  const o = { ...popDefaults, ...options };
  return [
    'select * from queen.log_pop_wildcard_bin_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
    [
      queue,
      o.group,
      o.budget,
      o.leaseSeconds,
      o.worker,
      o.autoAck,
      o.maxPartitions,
      o.mode,
      o.from,
      o.tenant,
    ],
  ];
}

export function popListCall(queue: string, names: readonly string[], options: PopOptions = {}): Call {
  const o = { ...popDefaults, ...options };
  return [
    'select * from queen.log_pop_list_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)',
    [
      ...[queue, o.group, names, o.budget, o.leaseSeconds, o.worker, o.autoAck, o.maxPartitions],
      ...[o.mode, o.from, o.skipWindow, o.tenant],
    ],
  ];
}

export interface PopJob extends PopOptions {
  queue: string;
  names: readonly string[];
}

export function popMultiCall(jobs: readonly PopJob[]): Call {
  const all = jobs.map((job) => ({ ...popDefaults, ...job }));
  return [
    'select * from queen.log_pop_multi_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)',
    [
      all.map(({ tenant }) => tenant),
      all.map(({ queue }) => queue),
      all.map(({ group }) => group),
      all.map(({ budget }) => budget),
      all.map(({ leaseSeconds }) => leaseSeconds),
      all.map(({ worker }) => worker),
      all.map(({ autoAck }) => autoAck),
      all.map(({ maxPartitions }) => maxPartitions),
      all.map(({ mode }) => mode),
      all.map(({ from }) => from),
      all.map(({ skipWindow }) => skipWindow),
      all.flatMap(({ names }) => names),
      all.flatMap(({ names }, i) => names.map(() => i + 1)),
    ],
  ];
}

export function popDiscoverCall(
  { namespace = '', task = '' }: { namespace?: string | null; task?: string | null },
  options: PopOptions = {},
): Call {
  const o = { ...popDefaults, ...options };
  return [
    'select * from queen.log_pop_discover_wire_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    [
      ...[namespace, task, o.group, o.budget, o.leaseSeconds, o.worker, o.autoAck, o.maxPartitions],
      ...[o.mode, o.from, o.tenant],
    ],
  ];
}

export interface AckOptions {
  group?: string;
  /** Empty: an ack without a lease. */
  worker?: string | null;
}

const ackDefaults = { group: 'g', worker: 'w' };

export function ackAtCall(
  partitionId: string,
  upto: number | null,
  options: AckOptions & { ok?: boolean | null; count?: number | null } = {},
): Call {
  const o = { ...ackDefaults, ok: true, count: 0, ...options };
  return [
    'select queen.log_ack_at_v1($1, $2, $3, $4, $5, $6) as result',
    [partitionId, o.group, o.worker, upto, o.ok, o.count],
  ];
}

export interface AckMultiRow {
  partitionId: string;
  upto: number | null;
  group?: string;
  worker?: string;
  count?: number;
}

export function ackMultiCall(acks: readonly AckMultiRow[]): Call {
  return [
    'select queen.log_ack_multi_v1($1, $2, $3, $4, $5) as result',
    [
      acks.map(({ partitionId }) => partitionId),
      acks.map(({ group = 'g' }) => group),
      acks.map(({ upto }) => upto),
      acks.map(({ worker = 'w' }) => worker),
      acks.map(({ count = 0 }) => count),
    ],
  ];
}

/** Status by message; `null` for the statuses stands for a missing array. */
export function ackByHashCall(
  partitionId: string,
  texts: readonly string[],
  statuses: readonly (string | null)[] | null,
  options: AckOptions = {},
): Call {
  const o = { ...ackDefaults, ...options };
  return [
    'select queen.log_ack_by_hash_v1($1, $2, $3, $4, $5) as result',
    [partitionId, o.group, o.worker, texts.map((text) => hashTransactionId(text)), statuses],
  ];
}

export interface HashCompletionInput {
  partitionId: string;
  texts: readonly string[];
  group?: string;
  worker?: string;
}

export function ackByHashMultiCall(acks: readonly HashCompletionInput[]): Call {
  return [
    'select queen.log_ack_by_hash_multi_v1($1, $2, $3, $4, $5) as result',
    [
      acks.map(({ partitionId }) => partitionId),
      acks.map(({ group = 'g' }) => group),
      acks.map(({ worker = 'w' }) => worker),
      acks.map(({ texts }) => texts.length),
      acks.flatMap(({ texts }) => texts.map((text) => hashTransactionId(text))),
    ],
  ];
}

export function renewCall(
  worker: string,
  seconds: number | null,
  partitionIds: readonly string[] | null = null,
  tenant: string | null = null,
): Call {
  return [
    'select queen.log_renew_lease_v1($1, $2, $3, $4) as result',
    [worker, seconds, partitionIds, tenant],
  ];
}

export interface DeadLetterInput extends AckOptions {
  text?: string;
  payload?: string;
  messageId?: string | null;
  error?: string | null;
  headers?: string | null;
  traceId?: string | null;
  producerSub?: string | null;
  encrypted?: boolean | null;
}

export function dlqHeadCall(partitionId: string, offset: number, options: DeadLetterInput = {}): Call {
  const extras = { headers: null, traceId: null, producerSub: null, encrypted: false };
  const o = {
    ...ackDefaults,
    ...{ text: 'poison', payload: '{}', messageId: null, error: 'boom' },
    ...extras,
    ...options,
  };
  return [
    'select queen.log_dlq_head_v2($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as result',
    [
      ...[partitionId, o.group, o.worker, offset, o.messageId, o.text, o.payload, o.error],
      ...[o.headers, o.traceId, o.producerSub, o.encrypted],
    ],
  ];
}

/** As the procedures list it: 32 lowercase hex digits. */
export function hexHash(text: string): string {
  return hashTransactionId(text).toString('hex');
}
