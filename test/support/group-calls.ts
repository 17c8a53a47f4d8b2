import { TENANT, type Call } from './calls.js';

export interface SeekTo {
  toEnd?: boolean | null;
  at?: string | null;
  group?: string;
  tenant?: string;
}

export function seekQueueCall(
  queue: string,
  { toEnd = false, at = null, group = 'g', tenant = TENANT }: SeekTo,
): Call {
  return [
    'select queen.log_seek_consumer_group_v1($1, $2, $3, $4, $5) as result',
    [group, queue, toEnd, at, tenant],
  ];
}

export function seekPartitionCall(
  queue: string,
  partition: string,
  { toEnd = false, at = null, group = 'g', tenant = TENANT }: SeekTo,
): Call {
  return [
    'select queen.log_seek_partition_v1($1, $2, $3, $4, $5, $6) as result',
    [group, queue, partition, toEnd, at, tenant],
  ];
}

export function seekPreviewCall(
  queue: string,
  partition: string | null,
  { toEnd = false, at = null, group = 'g', tenant = TENANT }: SeekTo,
): Call {
  return [
    'select queen.log_seek_preview_v1($1, $2, $3, $4, $5, $6) as result',
    [group, queue, partition, toEnd, at, tenant],
  ];
}

export function deleteGroupCall(group: string, withMetadata = true, tenant = TENANT): Call {
  return ['select queen.delete_consumer_group_v1($1, $2, $3) as result', [group, withMetadata, tenant]];
}

export function deleteGroupOfQueueCall(
  group: string,
  queue: string,
  withMetadata = true,
  tenant = TENANT,
): Call {
  return [
    'select queen.delete_consumer_group_for_queue_v1($1, $2, $3, $4) as result',
    [group, queue, withMetadata, tenant],
  ];
}

export function subscriptionCall(group: string, at: string, tenant = TENANT): Call {
  return ['select queen.update_consumer_group_subscription_v1($1, $2, $3) as result', [group, at, tenant]];
}

/** An old point in time: before everything a test stores. */
export const LONG_AGO = '2001-01-01T00:00:00Z';
/** Beyond everything a test stores. */
export const NEXT_CENTURY = '2101-01-01T00:00:00Z';
