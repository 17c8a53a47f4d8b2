import type { Clock } from './clock.js';

/** A point on the monotonic clock after which nobody waits any longer. */
export class Deadline {
  private constructor(
    private readonly clock: Clock,
    private readonly atMs: number,
  ) {}

  static in(clock: Clock, timeoutMs: number): Deadline {
    return new Deadline(clock, clock.monoMs() + timeoutMs);
  }

  get remainingMs(): number {
    return Math.max(0, this.atMs - this.clock.monoMs());
  }

  get hasPassed(): boolean {
    return this.clock.monoMs() >= this.atMs;
  }
}
