import { timestampText } from '../base/time/iso-micros.js';
import type { MessageAddress } from '../http/message-address.js';
import { uuidArray } from '../raw-sql/binary-array.js';
import { procedure } from '../raw-sql/procedure.js';
import { hashTransactionId } from '../segment/transaction-hash.js';
import type { MessageListRequest, MessageStatus } from './messages.request.js';

/** A message as SQL knows it: where it is and how far consumers are, without its content. */
export interface MessageRow {
  readonly partitionId: string;
  readonly queue: string;
  readonly partition: string;
  readonly namespace: string | null;
  readonly task: string | null;
  readonly priority: number;
  /** Of its segment, as is the next. */
  readonly base: number;
  readonly end: number;
  readonly offset: number;
  /** Microseconds since the epoch, as are the other times. */
  readonly createdAt: number;
  readonly transactionHash: Buffer;
  readonly status: MessageStatus;
  /** Named groups that are past it … */
  readonly consumedBy: number;
  /** … of so many. */
  readonly groups: number;
  /** Of queue mode, while the message is part of its batch. */
  readonly leaseExpiresAt: number | null;
}

/** Newest first. */
export const listMessagesV1 = procedure<MessageListRequest, MessageRow>({
  name: 'list_messages_v1',
  parameterTypes: [
    ...['text', 'text', 'text', 'text', 'text'],
    ...['timestamptz', 'timestamptz', 'int', 'int', 'uuid'],
  ],
  values: ({ queue, partition, namespace, task, status, from, to, limit, offset, tenant }) => [
    ...[queue, partition, namespace, task, status],
    ...[from === null ? null : timestampText(from), to === null ? null : timestampText(to)],
    ...[limit, offset, tenant],
  ],
  row: (fields) => ({
    partitionId: fields[0] as string,
    queue: fields[1] as string,
    partition: fields[2] as string,
    namespace: fields[3] as string | null,
    task: fields[4] as string | null,
    priority: fields[5] as number,
    base: fields[6] as number,
    end: fields[7] as number,
    offset: fields[8] as number,
    createdAt: fields[9] as number,
    transactionHash: fields[10] as Buffer,
    status: fields[11] as MessageStatus,
    consumedBy: fields[12] as number,
    groups: fields[13] as number,
    leaseExpiresAt: fields[14] as number | null,
  }),
});

export interface GroupMode {
  readonly queueMode: boolean;
  /** Named groups. */
  readonly groups: number;
}

export const logGroupModeV1 = procedure<readonly string[], GroupMode>({
  name: 'log_group_mode_v1',
  parameterTypes: ['uuid[]'],
  values: (partitionIds) => [uuidArray(partitionIds)],
  row: ([queueMode, groups]) => ({ queueMode: queueMode as boolean, groups: groups as number }),
});

/** The blob that covers an offset; no row when there is none any more. */
export const logSegmentAtV1 = procedure<{ partitionId: string; offset: number }, StoredSegment>({
  name: 'log_segment_at_v1',
  parameterTypes: ['uuid', 'bigint'],
  values: ({ partitionId, offset }) => [partitionId, offset],
  row: ([base, end, , blob]) => ({ base: base as number, end: end as number, blob: blob as Buffer }),
});

export interface StoredSegment {
  readonly base: number;
  readonly end: number;
  readonly blob: Buffer;
}

/** The copy that a group put aside. */
export interface LetterCopy {
  readonly failedAt: number;
  readonly error: string | null;
  readonly retryCount: number;
  readonly messageId: string | null;
  readonly payload: string | null;
  readonly headers: string | null;
  readonly traceId: string | null;
  readonly producerSub: string | null;
  readonly encrypted: boolean;
}

export interface MessageDetailRow {
  readonly queue: string;
  readonly partition: string;
  readonly namespace: string | null;
  readonly task: string | null;
  readonly queueConfig: {
    readonly leaseTime: number;
    readonly retryLimit: number;
    readonly retryDelay: number;
    readonly ttl: number;
    readonly priority: number;
  };
  readonly offset: number;
  /** Null when only a dead letter is left, as is the time. */
  readonly segment: StoredSegment | null;
  readonly createdAt: number | null;
  readonly letter: LetterCopy | null;
  readonly status: MessageStatus;
  readonly leaseExpiresAt: number | null;
  readonly queueMode: boolean;
  readonly groupCount: number;
  readonly groups: readonly {
    name: string;
    group: string;
    consumed: boolean;
    leaseExpiresAt: string | null;
  }[];
}

/** No row when nothing is known under the address. */
export const getMessageV1 = procedure<MessageAddress, MessageDetailRow>({
  name: 'get_message_v1',
  parameterTypes: ['uuid', 'text', 'bytea', 'uuid'],
  values: ({ partitionId, transactionId, tenant }) => [
    ...[partitionId, transactionId, hashTransactionId(transactionId), tenant],
  ],
  row: (fields) => ({
    queue: fields[0] as string,
    partition: fields[1] as string,
    namespace: fields[2] as string | null,
    task: fields[3] as string | null,
    queueConfig: {
      leaseTime: fields[4] as number,
      retryLimit: fields[5] as number,
      retryDelay: fields[6] as number,
      ttl: fields[7] as number,
      priority: fields[8] as number,
    },
    offset: fields[11] as number,
    segment:
      fields[13] === null
        ? null
        : { base: fields[9] as number, end: fields[10] as number, blob: fields[13] as Buffer },
    createdAt: fields[12] as number | null,
    letter:
      fields[14] === null
        ? null
        : {
            failedAt: fields[15] as number,
            error: fields[16] as string | null,
            retryCount: fields[17] as number,
            messageId: fields[18] as string | null,
            payload: fields[19] as string | null,
            headers: fields[20] as string | null,
            traceId: fields[21] as string | null,
            producerSub: fields[22] as string | null,
            encrypted: fields[23] as boolean,
          },
    status: fields[24] as MessageStatus,
    leaseExpiresAt: fields[25] as number | null,
    queueMode: fields[26] as boolean,
    groupCount: fields[27] as number,
    groups: fields[28] as MessageDetailRow['groups'],
  }),
});
