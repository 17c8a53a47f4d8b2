/** Every kind of statement that takes a permit. Each lane has limits of its own, so none can starve another (L4). */
export const laneNames = ['push', 'pop', 'ack', 'maintenance'] as const;
export type LaneName = (typeof laneNames)[number];

/** Permits of one lane. `min = max` is a fixed lane: the control law can then move nothing. */
export interface LaneLimits {
  init: number;
  min: number;
  max: number;
}

export interface LimiterOptions {
  lanes: Record<LaneName, LaneLimits>;
  /** Statements believed to queue inside PostgreSQL below which a busy lane grows. */
  alpha: number;
  /** … and from which it shrinks. */
  beta: number;
  /** Waiters one lane keeps; the next one is answered `overloaded`. */
  maxWaiters: number;
  /** Longest wait for a permit; then `overloaded`. */
  maxWaitMs: number;
}

export const LIMITER_OPTIONS = Symbol('LimiterOptions');

/**
 * `min` is the concurrency known to be healthy, and the law only moves above it: on a database bound by its
 * commits, the wait for the next WAL flush looks like queueing to the law although admitting fewer statements
 * would not shorten it.
 */
export const defaultLimiterOptions: LimiterOptions = {
  lanes: {
    push: { init: 8, min: 8, max: 12 },
    pop: { init: 12, min: 8, max: 16 },
    ack: { init: 4, min: 4, max: 6 },
    maintenance: { init: 2, min: 2, max: 2 },
  },
  alpha: 3,
  beta: 6,
  maxWaiters: 10_000,
  maxWaitMs: 5_000,
};
