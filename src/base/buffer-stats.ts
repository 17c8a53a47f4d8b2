/** What waits on this broker's disk for the database to come back. */
export interface BufferStats {
  /** Messages waiting. */
  pending: number;
  /** Messages set aside because they could not be stored. */
  failed: number;
  dbHealthy: boolean;
}

export interface BufferReport {
  stats(): BufferStats;
}

/** Given by whoever keeps such a buffer; absent when nobody does. */
export const BUFFER_REPORT = Symbol('BufferReport');
