export interface WaitBackoffOptions {
  /** Interval of the first `threshold` waits. */
  initialMs: number;
  threshold: number;
  multiplier: number;
  /** No interval is longer: what a lost wake may cost. */
  maxMs: number;
}

/** Long waits of many pops end together, at multiples of this: what each then asks the database goes in few statements. */
const ALIGN_MS = 25;
/** Shorter waits are those of the first moments, where latency counts. */
const ALIGNED_FROM_MS = 500;

/**
 * Attempt → milliseconds to park (seed step 7): `initial` for the first `threshold` waits, then
 * `initial * attempt * multiplier` up to `max`; with the defaults 100, 100, 100, 800, 1000, 1000, …
 * A wake resets it: there is life in the queue.
 */
export class WaitBackoff {
  private attempt = 0;

  constructor(private readonly options: WaitBackoffOptions) {}

  /**
   * @param remainingMs to the deadline; no interval reaches beyond it
   * @param nowMs of the monotonic clock; a long interval ends up to 25 ms earlier, at a moment that others share
   */
  next(remainingMs: number, nowMs: number): number {
    const { initialMs, threshold, multiplier, maxMs } = this.options;
    this.attempt += 1;
    const intervalMs =
      this.attempt <= threshold ? initialMs : Math.min(initialMs * this.attempt * multiplier, maxMs);
    if (intervalMs >= remainingMs) return Math.max(0, remainingMs);
    if (intervalMs < ALIGNED_FROM_MS) return intervalMs;
    // Rounded up: timers drop fractions, and a wait that ends just before its moment would lose a whole step.
    return Math.ceil(intervalMs - ((nowMs + intervalMs) % ALIGN_MS));
  }

  reset(): void {
    this.attempt = 0;
  }
}
