export interface WaitBackoffOptions {
  /** Interval of the first `threshold` waits. */
  initialMs: number;
  threshold: number;
  multiplier: number;
  /** No interval is longer: what a lost wake may cost. */
  maxMs: number;
}

/**
 * Attempt → milliseconds to park (seed step 7): `initial` for the first `threshold` waits, then
 * `initial * attempt * multiplier` up to `max`; with the defaults 100, 100, 100, 800, 1000, 1000, …
 * A wake resets it: there is life in the queue.
 */
export class WaitBackoff {
  private attempt = 0;

  constructor(private readonly options: WaitBackoffOptions) {}

  /** @param remainingMs to the deadline; no interval reaches beyond it */
  next(remainingMs: number): number {
    const { initialMs, threshold, multiplier, maxMs } = this.options;
    this.attempt += 1;
    const intervalMs =
      this.attempt <= threshold ? initialMs : Math.min(initialMs * this.attempt * multiplier, maxMs);
    return Math.max(0, Math.min(intervalMs, remainingMs));
  }

  reset(): void {
    this.attempt = 0;
  }
}
