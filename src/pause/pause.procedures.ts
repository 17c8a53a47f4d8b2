import { scalarProcedure } from '../raw-sql/procedure.js';

export interface SetPauseArgs {
  tenant: string;
  queue: string;
  /** Null: leave that side as it is. */
  pops: boolean | null;
  pushes: boolean | null;
}

export interface PausedQueue {
  queue: string;
  paused: { pops: boolean; pushes: boolean };
}

export const setQueuePauseV1 = scalarProcedure<SetPauseArgs, PausedQueue | { error: string }>({
  name: 'set_queue_pause_v1',
  parameterTypes: ['text', 'boolean', 'boolean', 'uuid'],
  values: ({ tenant, queue, pops, pushes }) => [queue, pops, pushes, tenant],
});
