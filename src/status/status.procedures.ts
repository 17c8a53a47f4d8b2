import { scalarProcedure } from '../raw-sql/procedure.js';

/** The replies of these routes are put together by their procedures; each file says how they look. */
export type Reply = Record<string, unknown>;

/** Null: any. */
export interface QueueFilter {
  tenant: string;
  queue: string | null;
  namespace: string | null;
  task: string | null;
}

export interface TimeRange {
  /** Null: a while before the end, how long the procedure says. */
  from: string | null;
  /** Null: now, by the database's clock. */
  to: string | null;
}

export const getStatusV3 = scalarProcedure<QueueFilter & TimeRange, Reply>({
  name: 'get_status_v3',
  parameterTypes: ['timestamptz', 'timestamptz', 'text', 'text', 'text', 'uuid'],
  values: (a) => [a.from, a.to, a.queue, a.namespace, a.task, a.tenant],
});

export const getStatusQueuesV2 = scalarProcedure<QueueFilter & { limit: number; offset: number }, Reply>({
  name: 'get_status_queues_v2',
  parameterTypes: ['int', 'bigint', 'text', 'text', 'text', 'uuid'],
  values: (a) => [a.limit, a.offset, a.queue, a.namespace, a.task, a.tenant],
});

export interface QueuePageArgs {
  tenant: string;
  queue: string;
  limit: number;
  offset: number;
  after: string | null;
}

export const getQueueDetailV2 = scalarProcedure<QueuePageArgs, Reply | { error: string }>({
  name: 'get_queue_detail_v2',
  parameterTypes: ['text', 'int', 'bigint', 'text', 'uuid'],
  values: (a) => [a.queue, a.limit, a.offset, a.after, a.tenant],
});

export const getAnalyticsV1 = scalarProcedure<QueueFilter & TimeRange & { interval: string }, Reply>({
  name: 'get_analytics_v1',
  parameterTypes: ['timestamptz', 'timestamptz', 'text', 'text', 'text', 'text', 'uuid'],
  values: (a) => [a.from, a.to, a.interval, a.queue, a.namespace, a.task, a.tenant],
});
