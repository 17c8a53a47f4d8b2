import { procedure, scalarProcedure } from '../raw-sql/procedure.js';

export interface QueueControlRow {
  tenant: string;
  queue: string;
  popsPaused: boolean;
  pushesPaused: boolean;
  /** 0: no bound. */
  maxSize: number;
}

/** The few queues that are paused or have a maxSize. */
export const queueControlsV1 = procedure<void, QueueControlRow>({
  name: 'queue_controls_v1',
  parameterTypes: [],
  values: () => [],
  row: ([tenant, queue, popsPaused, pushesPaused, maxSize]) => ({
    tenant: tenant as string,
    queue: queue as string,
    popsPaused: popsPaused as boolean,
    pushesPaused: pushesPaused as boolean,
    maxSize: maxSize as number,
  }),
});

/** Messages that the slowest group has not finished; null for an unknown queue. */
export const queueBacklogV1 = scalarProcedure<{ tenant: string; queue: string }, number | null>({
  name: 'queue_backlog_v1',
  parameterTypes: ['text', 'uuid'],
  values: ({ tenant, queue }) => [queue, tenant],
});
