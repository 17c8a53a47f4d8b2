import { scalarProcedure } from '../raw-sql/procedure.js';

/** The replies of these routes are put together by their procedures; each file says how they look. */
export type Reply = Record<string, unknown>;
export type Found = Reply | { error: string };

const ofTenant = (name: string) =>
  scalarProcedure<string, Reply>({ name, parameterTypes: ['uuid'], values: (tenant) => [tenant] });

export const getQueuesV2 = ofTenant('get_queues_v2');
export const getNamespacesV2 = ofTenant('get_namespaces_v2');
export const getTasksV2 = ofTenant('get_tasks_v2');
export const getSystemOverviewV3 = ofTenant('get_system_overview_v3');

export interface QueueArgs {
  tenant: string;
  queue: string;
  limit: number;
}

export interface QueuePageArgs extends QueueArgs {
  offset: number;
  /** Name of the partition that the page begins behind; null: from the first on. */
  after: string | null;
}

export const getQueueV2 = scalarProcedure<QueuePageArgs, Found>({
  name: 'get_queue_v2',
  parameterTypes: ['text', 'int', 'bigint', 'text', 'uuid'],
  values: (a) => [a.queue, a.limit, a.offset, a.after, a.tenant],
});

export const logQueueDepthV1 = scalarProcedure<QueueArgs & { group: string | null }, Found>({
  name: 'log_queue_depth_v1',
  parameterTypes: ['text', 'text', 'int', 'uuid'],
  values: (a) => [a.queue, a.group, a.limit, a.tenant],
});
