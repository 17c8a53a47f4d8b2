import { scalarProcedure } from '../raw-sql/procedure.js';
import type { OptionValue } from './configure.request.js';

export interface ConfigureArgs {
  tenant: string;
  queue: string;
  options: Readonly<Record<string, OptionValue>>;
}

/** The reply as clients know it; only what the broker itself reads is spelled out. */
export interface ConfiguredQueue {
  configured: true;
  queue: string;
  options: Record<string, OptionValue>;
}

export const configureQueueV1 = scalarProcedure<ConfigureArgs, ConfiguredQueue>({
  name: 'configure_queue_v1',
  parameterTypes: ['text', 'jsonb', 'uuid'],
  values: ({ tenant, queue, options }) => [queue, JSON.stringify(options), tenant],
});

export interface DeletedQueue {
  deleted: boolean;
  queue: string;
  existed: boolean;
  message?: string;
}

export const deleteQueueV1 = scalarProcedure<{ tenant: string; queue: string }, DeletedQueue>({
  name: 'delete_queue_v1',
  parameterTypes: ['text', 'uuid'],
  values: ({ tenant, queue }) => [queue, tenant],
});
