/**
 * What the hot-list needs of the wake gates. Without a partition every pop parked on the queue looks again; with
 * one, queue-wide pops and those that wait for exactly this partition do.
 */
export interface Waker {
  open(key: string, partition?: string): void;
  /** Only those that wait without a ring: pops of exactly this partition, and discovery pops of the tenant. */
  openPartition(key: string, partition: string): void;
}

export const WAKER = Symbol('Waker');
