import type { Environment } from '../base/config/environment.js';

export interface RetentionOptions {
  /** Pause between two sweeps. */
  intervalMs: number;
  /** Most segments, hash rows or partitions that one step deletes. */
  rowsMax: number;
  /** An empty partition that nobody has used for so long goes; 0: never. */
  cleanupDays: number;
  /** How long the history of what was deleted is kept; 0: for ever. */
  historyDays: number;
}

export const RETENTION_OPTIONS = Symbol('RetentionOptions');

export function retentionOptions(environment: Environment): RetentionOptions {
  return {
    intervalMs: environment.RETENTION_INTERVAL,
    rowsMax: environment.RETENTION_BATCH_SIZE,
    cleanupDays: environment.PARTITION_CLEANUP_DAYS,
    historyDays: environment.METRICS_RETENTION_DAYS,
  };
}
