import type { ListQuery } from '../http/list-query.js';

/** Which dead letters are meant; null means any. */
export interface DeadLetterFilter {
  readonly tenant: string;
  readonly queue: string | null;
  readonly partition: string | null;
  readonly group: string | null;
  /** Microseconds since the epoch: failed at or after `from` … */
  readonly from: number | null;
  /** … and before `to`. */
  readonly to: number | null;
}

export const FILTER_PARAMETERS = ['queue', 'partition', 'consumerGroup', 'from', 'to'] as const;

export function filterOf(query: ListQuery, tenant: string): DeadLetterFilter {
  return {
    tenant,
    queue: query.text('queue'),
    partition: query.text('partition'),
    group: query.text('consumerGroup'),
    from: query.instant('from'),
    to: query.instant('to'),
  };
}

/** Whether the filter lets every dead letter of the tenant pass. */
export function passesAll({ queue, partition, group, from, to }: DeadLetterFilter): boolean {
  return [queue, partition, group, from, to].every((condition) => condition === null);
}
