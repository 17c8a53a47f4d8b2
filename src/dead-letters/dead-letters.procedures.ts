import { timestampText } from '../base/time/iso-micros.js';
import type { MessageAddress } from '../http/message-address.js';
import { procedure, scalarProcedure } from '../raw-sql/procedure.js';
import type { DeadLetterFilter } from './dead-letter-filter.js';

/** A place in a list of dead letters. */
export interface LetterPosition {
  readonly id: string;
  /** Microseconds since the epoch. */
  readonly failedAt: number;
}

const filterTypes = ['text', 'text', 'text', 'timestamptz', 'timestamptz'];
const positionTypes = ['timestamptz', 'uuid'];

function filterValues({ queue, partition, group, from, to }: DeadLetterFilter): unknown[] {
  return [queue, partition, group, timeOrNull(from), timeOrNull(to)];
}

function positionValues(position: LetterPosition | null): unknown[] {
  return [timeOrNull(position?.failedAt ?? null), position?.id ?? null];
}

function timeOrNull(micros: number | null): string | null {
  return micros === null ? null : timestampText(micros);
}

export interface DeadLetterRow extends LetterPosition {
  readonly partitionId: string;
  readonly queue: string;
  readonly partition: string;
  readonly group: string;
  readonly offset: number;
  /** Null, as are the transactionId and the payload, when the message could not be read any more. */
  readonly messageId: string | null;
  readonly transactionId: string | null;
  readonly error: string | null;
  readonly retryCount: number;
  /** Raw JSON text. */
  readonly payload: string | null;
  /** Raw text of an object of strings. */
  readonly headers: string | null;
  readonly traceId: string | null;
  readonly producerSub: string | null;
  readonly encrypted: boolean;
}

export interface DeadLetterListArgs {
  readonly filter: DeadLetterFilter;
  readonly before: LetterPosition | null;
  readonly limit: number;
  readonly offset: number;
  readonly bytesMax: number;
}

/** Newest failure first. */
export const getDlqMessagesV1 = procedure<DeadLetterListArgs, DeadLetterRow>({
  name: 'get_dlq_messages_v1',
  parameterTypes: [...filterTypes, ...positionTypes, 'int', 'int', 'bigint', 'uuid'],
  values: ({ filter, before, limit, offset, bytesMax }) => [
    ...filterValues(filter),
    ...positionValues(before),
    ...[limit, offset, bytesMax, filter.tenant],
  ],
  row: (fields) => ({
    id: fields[0] as string,
    failedAt: fields[1] as number,
    partitionId: fields[2] as string,
    queue: fields[3] as string,
    partition: fields[4] as string,
    group: fields[5] as string,
    offset: fields[6] as number,
    messageId: fields[7] as string | null,
    transactionId: fields[8] as string | null,
    error: fields[9] as string | null,
    retryCount: fields[10] as number,
    payload: fields[11] as string | null,
    headers: fields[12] as string | null,
    traceId: fields[13] as string | null,
    producerSub: fields[14] as string | null,
    encrypted: fields[15] as boolean,
  }),
});

export interface DeadLetterSummary {
  readonly matched: number;
  readonly withoutPayload: number;
  /** Microseconds since the epoch; null when nothing matched. */
  readonly oldest: number | null;
  readonly newest: number | null;
}

export const logDlqSummaryV1 = procedure<
  { filter: DeadLetterFilter; after: LetterPosition | null },
  DeadLetterSummary
>({
  name: 'log_dlq_summary_v1',
  parameterTypes: [...filterTypes, ...positionTypes, 'uuid'],
  values: ({ filter, after }) => [...filterValues(filter), ...positionValues(after), filter.tenant],
  row: ([matched, withoutPayload, oldest, newest]) => ({
    matched: matched as number,
    withoutPayload: withoutPayload as number,
    oldest: oldest as number | null,
    newest: newest as number | null,
  }),
});

export interface ListedLetter extends LetterPosition {
  /** End of the time range that was listed: the filter's, or the moment of the call. */
  readonly until: number;
}

/** Oldest failure first. */
export const logDlqIdsV1 = procedure<
  { filter: DeadLetterFilter; after: LetterPosition | null; limit: number },
  ListedLetter
>({
  name: 'log_dlq_ids_v1',
  parameterTypes: [...filterTypes, ...positionTypes, 'int', 'uuid'],
  values: ({ filter, after, limit }) => [
    ...filterValues(filter),
    ...positionValues(after),
    ...[limit, filter.tenant],
  ],
  row: ([id, failedAt, until]) => ({
    id: id as string,
    failedAt: failedAt as number,
    until: until as number,
  }),
});

export const logDlqPurgeV1 = procedure<
  { filter: DeadLetterFilter; limit: number },
  { deleted: number; until: number }
>({
  name: 'log_dlq_purge_v1',
  parameterTypes: [...filterTypes, 'int', 'uuid'],
  values: ({ filter, limit }) => [...filterValues(filter), limit, filter.tenant],
  row: ([deleted, until]) => ({ deleted: deleted as number, until: until as number }),
});

/** What a replay needs of a dead letter. */
export interface DeadLetterContent {
  readonly queue: string;
  readonly partition: string;
  readonly payload: string | null;
  readonly headers: string | null;
  readonly traceId: string | null;
  readonly producerSub: string | null;
  readonly encrypted: boolean;
}

/** No row when the letter is gone. */
export const logDlqLetterV1 = procedure<{ id: string; tenant: string }, DeadLetterContent>({
  name: 'log_dlq_letter_v1',
  parameterTypes: ['uuid', 'uuid'],
  values: ({ id, tenant }) => [id, tenant],
  row: ([queue, partition, payload, headers, traceId, producerSub, encrypted]) => ({
    queue: queue as string,
    partition: partition as string,
    payload: payload as string | null,
    headers: headers as string | null,
    traceId: traceId as string | null,
    producerSub: producerSub as string | null,
    encrypted: encrypted as boolean,
  }),
});

/** The id of the newest dead letter of the message, or null. */
export const logDlqNewestV1 = scalarProcedure<MessageAddress, string | null>({
  name: 'log_dlq_newest_v1',
  parameterTypes: ['uuid', 'text', 'uuid'],
  values: ({ partitionId, transactionId, tenant }) => [partitionId, transactionId, tenant],
});

export interface DeletedMessage {
  success: boolean;
  partitionId: string;
  transactionId: string;
  message: string;
  error?: string;
}

export const deleteMessageV1 = scalarProcedure<MessageAddress, DeletedMessage>({
  name: 'delete_message_v1',
  parameterTypes: ['uuid', 'text', 'uuid'],
  values: ({ partitionId, transactionId, tenant }) => [partitionId, transactionId, tenant],
});

export interface MoveArgs {
  readonly tenant: string;
  readonly id: string;
  readonly queue: string;
  readonly partition: string;
  /** 16 bytes: of the transactionId in the blob. */
  readonly hash: Buffer;
  /** A segment of one message. */
  readonly blob: Buffer;
}

export type MoveResult = { readonly result: 'moved' | 'gone' | 'duplicate' | 'maintenance' };

export const logDlqMoveV1 = scalarProcedure<MoveArgs, MoveResult>({
  name: 'log_dlq_move_v1',
  parameterTypes: ['uuid', 'uuid', 'text', 'text', 'bytea', 'bytea'],
  values: ({ tenant, id, queue, partition, hash, blob }) => [tenant, id, queue, partition, hash, blob],
});
