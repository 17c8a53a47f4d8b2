import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { Lane, type AcquireOptions, type LaneStats } from './lane.js';
import { LIMITER_OPTIONS, laneNames, type LaneName, type LimiterOptions } from './limiter.options.js';
import type { Permit } from './permit.js';

/**
 * How many statements of a kind may run at once. The order is fixed (G2): permit first, connection second, ring
 * check-out third. In any other order permit holders would wait for connections held by waiters for permits.
 */
@Injectable()
export class LimiterService {
  private readonly lanes: Record<LaneName, Lane>;

  constructor(@Inject(LIMITER_OPTIONS) options: LimiterOptions, @Inject(CLOCK) clock: Clock) {
    const { alpha, beta, maxWaiters, maxWaitMs } = options;
    const lane = (name: LaneName) =>
      new Lane({ limits: options.lanes[name], alpha, beta, maxWaiters, maxWaitMs }, clock);
    this.lanes = { push: lane('push'), pop: lane('pop'), ack: lane('ack'), maintenance: lane('maintenance') };
  }

  /**
   * Waits for a permit of the lane, runs, and gives the permit back whatever happens. `gone` ends the waiting,
   * never a run that has begun. The permit is valid inside `run` only.
   * @throws AbortedError the client left while waiting; BrokerError `overloaded` (503) too many waiters or too
   *   long a wait; WaitExpiredError `options.waitMs` passed first
   */
  async withPermit<T>(
    lane: LaneName,
    gone: AbortSignal | null,
    run: (permit: Permit) => Promise<T>,
    options?: AcquireOptions,
  ): Promise<T> {
    using permit = await this.lanes[lane].acquire(gone, options);
    return await run(permit);
  }

  /** A permit only if one is free at once; for a batcher that would rather go on collecting. Hold with `using`. */
  tryAcquire(lane: LaneName): Permit | null {
    return this.lanes[lane].tryAcquire();
  }

  stats(): Record<LaneName, LaneStats> {
    return Object.fromEntries(laneNames.map((name) => [name, this.lanes[name].stats()])) as Record<
      LaneName,
      LaneStats
    >;
  }
}
