import type { GroupMetrics, ProcessMetrics } from '../base/worker-group/worker-group.js';
import type { DatabaseOptions } from '../raw-sql/database-options.js';

/** What a worker is told before it builds its application. */
export interface Assignment {
  /** From 0; kept by the worker that takes this one's place. */
  readonly number: number;
  /** Prepared by the primary: the schema is applied, an embedded server runs. */
  readonly database: DatabaseOptions;
}

/** From the primary process to a worker. */
export type ToWorker =
  | ({ readonly kind: 'assignment' } & Assignment)
  /** The port is free for the workers. */
  | { readonly kind: 'listen'; readonly port: number }
  | { readonly kind: 'drain'; readonly reason: string }
  /** Say what you counted. */
  | { readonly kind: 'report'; readonly id: number }
  /** The answer to `gather`. */
  | { readonly kind: 'gathered'; readonly id: number; readonly metrics: GroupMetrics };

/** From a worker to the primary process. */
export type FromWorker =
  /** Its code is loaded: it asks for its assignment. */
  | { readonly kind: 'hello' }
  /** Its application is built: it asks for the port. */
  | { readonly kind: 'prepared' }
  | { readonly kind: 'ready'; readonly port: number }
  /** It cannot start, and is about to end. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'report'; readonly id: number; readonly metrics: ProcessMetrics }
  /** It was asked for the metrics of all. */
  | { readonly kind: 'gather'; readonly id: number };
