import { procedure, scalarProcedure } from '../raw-sql/procedure.js';

export interface GroupArgs {
  tenant: string;
  group: string;
}

/** What is listed goes to the client as PostgreSQL made it. */
export const getConsumerGroupsV4 = scalarProcedure<string, unknown[]>({
  name: 'get_consumer_groups_v4',
  parameterTypes: ['uuid'],
  values: (tenant) => [tenant],
});

export interface Page {
  limit: number;
  offset: number;
}

export const getLaggingPartitionsV1 = scalarProcedure<
  Page & { tenant: string; minLagSeconds: number },
  unknown[]
>({
  name: 'get_lagging_partitions_v1',
  parameterTypes: ['int', 'int', 'int', 'uuid'],
  values: ({ minLagSeconds, limit, offset, tenant }) => [minLagSeconds, limit, offset, tenant],
});

export const getConsumerGroupDetailsV1 = scalarProcedure<Page & GroupArgs, Record<string, unknown>>({
  name: 'get_consumer_group_details_v1',
  parameterTypes: ['text', 'int', 'int', 'uuid'],
  values: ({ group, limit, offset, tenant }) => [group, limit, offset, tenant],
});

export interface DeletedGroup {
  success: true;
  consumerGroup: string;
  deletedPartitions: number;
  metadataDeleted: boolean;
}

/** The queues concerned are for the broker's memory, not for the client. */
export const deleteConsumerGroupV1 = scalarProcedure<
  GroupArgs & { deleteMetadata: boolean },
  DeletedGroup & { queues: string[] }
>({
  name: 'delete_consumer_group_v1',
  parameterTypes: ['text', 'boolean', 'uuid'],
  values: ({ group, deleteMetadata, tenant }) => [group, deleteMetadata, tenant],
});

export const deleteConsumerGroupForQueueV1 = scalarProcedure<
  GroupArgs & { queue: string; deleteMetadata: boolean },
  DeletedGroup & { queueName: string }
>({
  name: 'delete_consumer_group_for_queue_v1',
  parameterTypes: ['text', 'text', 'boolean', 'uuid'],
  values: ({ group, queue, deleteMetadata, tenant }) => [group, queue, deleteMetadata, tenant],
});

export interface UpdatedSubscription {
  success: true;
  consumerGroup: string;
  newTimestamp: string;
  rowsUpdated: number;
}

export const updateConsumerGroupSubscriptionV1 = scalarProcedure<
  GroupArgs & { timestamp: string },
  UpdatedSubscription & { queues: string[] }
>({
  name: 'update_consumer_group_subscription_v1',
  parameterTypes: ['text', 'text', 'uuid'],
  values: ({ group, timestamp, tenant }) => [group, timestamp, tenant],
});

export interface SeekArgs extends GroupArgs {
  queue: string;
  toEnd: boolean;
  /** ISO 8601; null with toEnd. */
  timestamp: string | null;
}

/** On success the reply as clients know it. */
export type SeekResult = { success: true } | { success: false; error: string };

export const logSeekConsumerGroupV1 = scalarProcedure<SeekArgs, SeekResult>({
  name: 'log_seek_consumer_group_v1',
  parameterTypes: ['text', 'text', 'boolean', 'timestamptz', 'uuid'],
  values: ({ group, queue, toEnd, timestamp, tenant }) => [group, queue, toEnd, timestamp, tenant],
});

export const logSeekPartitionV1 = scalarProcedure<SeekArgs & { partition: string }, SeekResult>({
  name: 'log_seek_partition_v1',
  parameterTypes: ['text', 'text', 'text', 'boolean', 'timestamptz', 'uuid'],
  values: ({ group, queue, partition, toEnd, timestamp, tenant }) => [
    group,
    queue,
    partition,
    toEnd,
    timestamp,
    tenant,
  ],
});

export interface SeekPreview {
  partitions: number;
  messagesSkipped: number;
  messagesReplayed: number;
}

/** `partition` null: the whole queue. */
export const logSeekPreviewV1 = scalarProcedure<SeekArgs & { partition: string | null }, SeekPreview>({
  name: 'log_seek_preview_v1',
  parameterTypes: ['text', 'text', 'text', 'boolean', 'timestamptz', 'uuid'],
  values: ({ group, queue, partition, toEnd, timestamp, tenant }) => [
    group,
    queue,
    partition,
    toEnd,
    timestamp,
    tenant,
  ],
});

/** Cursors of a group were moved or removed without a write. */
export interface Repair {
  tenant: string;
  queue: string;
  group: string;
  /** Null: any partition of the queue. */
  partition: string | null;
  /** Microseconds; another value is another repair. */
  repairedAt: number;
}

export const logRepairsV1 = procedure<void, Repair>({
  name: 'log_repairs_v1',
  parameterTypes: [],
  values: () => [],
  row: ([tenant, queue, group, partition, repairedAt]) => ({
    tenant: tenant as string,
    queue: queue as string,
    group: group as string,
    partition: partition as string | null,
    repairedAt: repairedAt as number,
  }),
});
