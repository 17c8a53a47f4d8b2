import { timestampText } from '../base/time/iso-micros.js';
import { textArray, uuidArray } from '../raw-sql/binary-array.js';
import { procedure, scalarProcedure } from '../raw-sql/procedure.js';
import type { ClaimedPartition, ClaimedSegment } from './claim.js';

/** One row of any pop procedure: a claimed segment, or (list only) the verdict on one candidate. */
export type PopRow = SegmentRow | VerdictRow;

export interface SegmentRow {
  kind: 'segment';
  queue: string;
  partition: string;
  partitionId: string;
  attempt: number;
  segment: ClaimedSegment;
}

export interface VerdictRow {
  kind: 'verdict';
  partition: string;
  partitionId: string | null;
  state: 'took' | 'leased' | 'empty';
  lastOffset: number | null;
  waitMs: number | null;
}

function popRow(fields: readonly unknown[]): PopRow {
  const [
    queue,
    partition,
    partitionId,
    base,
    startIdx,
    take,
    messageCount,
    createdAt,
    blob,
    attempt,
    state,
    lastOffset,
    waitMs,
  ] = fields;
  if (state !== null) {
    return {
      kind: 'verdict',
      partition: partition as string,
      partitionId: partitionId as string | null,
      state: state as VerdictRow['state'],
      lastOffset: lastOffset as number | null,
      waitMs: waitMs as number | null,
    };
  }
  return {
    kind: 'segment',
    queue: queue as string,
    partition: partition as string,
    partitionId: partitionId as string,
    attempt: attempt as number,
    segment: {
      base: base as number,
      startIdx: startIdx as number,
      take: take as number,
      messageCount: messageCount as number,
      createdAtMicros: createdAt as number,
      blob: blob as Buffer,
    },
  };
}

/** Rows of one partition stand together, in claim order. */
export function partitionsOf(rows: readonly PopRow[]): ClaimedPartition[] {
  const partitions: ClaimedPartition[] = [];
  let current: ClaimedPartition | undefined;
  for (const row of rows) {
    if (row.kind !== 'segment') continue;
    if (!current || current.partitionId !== row.partitionId) {
      const { queue, partition, partitionId, attempt } = row;
      current = { queue, partition, partitionId, attempt, segments: [] };
      partitions.push(current);
    }
    current.segments.push(row.segment);
  }
  return partitions;
}

export interface PopArgs {
  tenant: string;
  queue: string;
  partition: string;
  namespace: string;
  task: string;
  group: string;
  batch: number;
  partitions: number;
  autoAck: boolean;
  leaseSeconds: number | null;
  subscriptionMode: string;
  subscriptionFrom: string;
  workerId: string;
}

export const logPopSpecificV1 = procedure<PopArgs, PopRow>({
  name: 'log_pop_specific_v1',
  parameterTypes: ['text', 'text', 'text', 'int', 'int', 'text', 'boolean', 'text', 'text', 'uuid'],
  values: (a) => [
    a.queue,
    a.partition,
    a.group,
    a.batch,
    a.leaseSeconds,
    a.workerId,
    a.autoAck,
    a.subscriptionMode,
    a.subscriptionFrom,
    a.tenant,
  ],
  row: popRow,
});

export const logPopWildcardBinV1 = procedure<PopArgs, PopRow>({
  name: 'log_pop_wildcard_bin_v1',
  parameterTypes: ['text', 'text', 'int', 'int', 'text', 'boolean', 'int', 'text', 'text', 'uuid'],
  values: (a) => [
    a.queue,
    a.group,
    a.batch,
    a.leaseSeconds,
    a.workerId,
    a.autoAck,
    a.partitions,
    a.subscriptionMode,
    a.subscriptionFrom,
    a.tenant,
  ],
  row: popRow,
});

export const logSeedSliceV1 = scalarProcedure<
  PopArgs & { after: string | null; limit: number },
  string | null
>({
  name: 'log_seed_slice_v1',
  parameterTypes: ['text', 'text', 'text', 'int', 'text', 'text', 'uuid'],
  values: (a) => [a.queue, a.group, a.after, a.limit, a.subscriptionMode, a.subscriptionFrom, a.tenant],
});

export const logPopListV1 = procedure<PopArgs & { names: readonly string[]; skipWindow: boolean }, PopRow>({
  name: 'log_pop_list_v1',
  parameterTypes: [
    'text',
    'text',
    'text[]',
    'int',
    'int',
    'text',
    'boolean',
    'int',
    'text',
    'text',
    'boolean',
    'uuid',
  ],
  values: (a) => [
    a.queue,
    a.group,
    textArray(a.names),
    a.batch,
    a.leaseSeconds,
    a.workerId,
    a.autoAck,
    a.partitions,
    a.subscriptionMode,
    a.subscriptionFrom,
    a.skipWindow,
    a.tenant,
  ],
  row: popRow,
});

export const logPopDiscoverWireV1 = procedure<PopArgs, PopRow>({
  name: 'log_pop_discover_wire_v1',
  parameterTypes: ['text', 'text', 'text', 'int', 'int', 'text', 'boolean', 'int', 'text', 'text', 'uuid'],
  values: (a) => [
    a.namespace,
    a.task,
    a.group,
    a.batch,
    a.leaseSeconds,
    a.workerId,
    a.autoAck,
    a.partitions,
    a.subscriptionMode,
    a.subscriptionFrom,
    a.tenant,
  ],
  row: popRow,
});

export interface PutAsideArgs {
  partitionId: string;
  group: string;
  worker: string;
  offset: number;
  /** Null when the stored message could not be read, as are those that follow. */
  messageId: string | null;
  transactionId: string | null;
  /** Raw JSON text as it was pushed. */
  payload: string | null;
  /** Raw text of an object of strings. */
  headers: string | null;
  traceId: string | null;
  producerSub: string | null;
  /** The payload is an envelope. */
  encrypted: boolean;
}

/** `id` of the dead letter; null on a queue that keeps none. */
export type PutAsideResult = { ok: true; id: string | null } | { ok: false; error: string };

export const logPutAsideV1 = scalarProcedure<PutAsideArgs, PutAsideResult>({
  name: 'log_put_aside_v1',
  parameterTypes: [
    ...['uuid', 'text', 'text', 'bigint', 'uuid', 'text', 'text', 'text', 'uuid', 'text', 'boolean'],
  ],
  values: (a) => [
    a.partitionId,
    a.group,
    a.worker,
    a.offset,
    a.messageId,
    a.transactionId,
    a.payload,
    a.headers,
    a.traceId,
    a.producerSub,
    a.encrypted,
  ],
});

export const logHasPendingV1 = scalarProcedure<PopArgs, boolean>({
  name: 'log_has_pending_v1',
  parameterTypes: ['text', 'text', 'uuid'],
  values: (a) => [a.queue, a.group, a.tenant],
});

/** One answer for each of the pops, in order. */
export const logPartitionsHavePendingV1 = procedure<readonly PopArgs[], boolean>({
  name: 'log_partitions_have_pending_v1',
  parameterTypes: ['text[]', 'text[]', 'text[]', 'uuid[]'],
  values: (pops) => [
    textArray(pops.map(({ queue }) => queue)),
    textArray(pops.map(({ partition }) => partition)),
    textArray(pops.map(({ group }) => group)),
    uuidArray(pops.map(({ tenant }) => tenant)),
  ],
  row: ([pending]) => pending as boolean,
});

export const logDiscoverHasPendingV1 = scalarProcedure<PopArgs, boolean>({
  name: 'log_discover_has_pending_v1',
  parameterTypes: ['text', 'text', 'text', 'uuid'],
  values: (a) => [a.namespace, a.task, a.group, a.tenant],
});

export const logGroupSeededV1 = scalarProcedure<{ queue: string; group: string; tenant: string }, boolean>({
  name: 'log_group_seeded_v1',
  parameterTypes: ['text', 'text', 'uuid'],
  values: (a) => [a.queue, a.group, a.tenant],
});

export interface ReseedPageArgs {
  queue: string;
  group: string;
  tenant: string;
  /** The last row of the page before; null for the first page. */
  after: { writtenAt: string; id: string } | null;
  /** First page: how far back to look, by the database's clock; null for a full walk. */
  windowMs: number | null;
  /** Later pages: the lower bound that the first page computed and every row carries. */
  cutoff: string | null;
  limit: number;
}

export interface ReseedPageRow {
  id: string;
  name: string;
  writtenAt: string;
  writtenAgoMs: number;
  cutoff: string;
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000';

export const logHotlistReseedWindowV1 = procedure<ReseedPageArgs, ReseedPageRow>({
  name: 'log_hotlist_reseed_window_v1',
  parameterTypes: ['text', 'text', 'timestamptz', 'uuid', 'bigint', 'timestamptz', 'int', 'uuid'],
  values: (a) => [
    a.queue,
    a.group,
    a.after?.writtenAt ?? '-infinity',
    a.after?.id ?? NIL_UUID,
    a.windowMs,
    a.cutoff,
    a.limit,
    a.tenant,
  ],
  row: ([id, name, writtenMicros, writtenAgoMs, cutoffMicros]) => ({
    id: id as string,
    name: name as string,
    writtenAt: timestampText(writtenMicros as number),
    writtenAgoMs: writtenAgoMs as number,
    cutoff: timestampText(cutoffMicros as number),
  }),
});
