import type { Clock } from '../base/clock/clock.js';
import { AbortedError } from '../base/errors/aborted-error.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { FairQueue } from './fair-queue.js';
import type { LaneLimits } from './limiter.options.js';
import { PermitWaiter } from './permit-waiter.js';
import { Permit, type PermitOwner } from './permit.js';
import { Vegas } from './vegas.js';
import { WaitHistogram, type WaitHistogramStats } from './wait-histogram.js';

/** The caller's own patience (`waitMs`) ran out before the lane's. For a pop this is its deadline: answer 204. */
export class WaitExpiredError extends Error {
  constructor() {
    super('no permit came free within the time the caller had');
    this.name = 'WaitExpiredError';
  }
}

export interface LaneOptions {
  limits: LaneLimits;
  alpha: number;
  beta: number;
  maxWaiters: number;
  maxWaitMs: number;
}

export interface AcquireOptions {
  /** While waiters of other keys are there, one key holds at most half of the permits. */
  key?: string;
  /** The caller's own bound; when it is the shorter one, its end rejects with WaitExpiredError. */
  waitMs?: number;
}

export interface LaneStats {
  limit: number;
  inFlight: number;
  waiting: number;
  waits: WaitHistogramStats;
  /** Best round trip of the last minute; 0 when there was none. */
  baseRttMs: number;
  rttMs: number;
  timeouts: number;
  overloads: number;
  aborts: number;
}

/**
 * Permits of one kind of statement, first come first served.
 *
 * Always true: at most floor(limit) permits are out when one is granted (lowering the limit revokes nothing, it
 * delays grants); a free permit means that nobody waits; a permit is given back once (L2).
 */
export class Lane implements PermitOwner {
  private readonly vegas: Vegas;
  private readonly waiters = new FairQueue<PermitWaiter>();
  private readonly heldByKey = new Map<string, number>();
  private readonly waits = new WaitHistogram();
  private inFlight = 0;
  private order = 0;
  private timeouts = 0;
  private overloads = 0;
  private aborts = 0;

  constructor(
    private readonly options: LaneOptions,
    private readonly clock: Clock,
  ) {
    this.vegas = new Vegas(options.limits, options.alpha, options.beta);
  }

  /** A permit if one is free now: then nobody waits who could be overtaken. The caller gives it back, best with `using`. */
  tryAcquire(key: string | null = null): Permit | null {
    if (!this.hasFree()) return null;
    this.waits.record(0);
    return this.hand(key);
  }

  /**
   * Waits in line for a permit.
   * @throws AbortedError the client left; BrokerError `overloaded` the line is full or the lane's bound passed;
   *   WaitExpiredError the caller's shorter bound passed
   */
  async acquire(gone: AbortSignal | null, options: AcquireOptions = {}): Promise<Permit> {
    if (gone?.aborted) throw this.aborted();
    const key = options.key ?? null;
    const free = this.tryAcquire(key);
    if (free) return free;
    if (this.waiters.size >= this.options.maxWaiters) throw this.overloaded();

    const waitMs = options.waitMs ?? Infinity;
    if (waitMs <= 0) throw new WaitExpiredError();
    const permit = await this.wait(key, gone, waitMs);
    // The client may leave between the grant and this line; the grant then goes to the next one at once.
    if (gone?.aborted) {
      permit.release();
      throw this.aborted();
    }
    return permit;
  }

  stats(): LaneStats {
    const baseRttMs = this.vegas.baseRttMs(this.clock.monoMs());
    return {
      limit: this.vegas.limit,
      inFlight: this.inFlight,
      waiting: this.waiters.size,
      waits: this.waits.stats(),
      baseRttMs: Number.isFinite(baseRttMs) ? baseRttMs : 0,
      rttMs: this.vegas.rttMs,
      timeouts: this.timeouts,
      overloads: this.overloads,
      aborts: this.aborts,
    };
  }

  sampled(rttMs: number): void {
    this.vegas.sample(rttMs, this.inFlight, this.clock.monoMs());
    this.grantWaiting();
  }

  timedOut(): void {
    this.timeouts += 1;
    this.vegas.timedOut(this.clock.monoMs());
  }

  released(key: string | null): void {
    this.inFlight -= 1;
    if (key !== null) {
      const left = (this.heldByKey.get(key) ?? 0) - 1;
      if (left > 0) this.heldByKey.set(key, left);
      else this.heldByKey.delete(key);
    }
    this.grantWaiting();
  }

  private wait(key: string | null, gone: AbortSignal | null, waitMs: number): Promise<Permit> {
    const { maxWaitMs } = this.options;
    return new Promise<Permit>((resolve, reject) => {
      const waiter = new PermitWaiter(
        this.order++,
        key,
        this.clock.monoMs(),
        gone,
        (leaving) => this.waiters.remove(leaving),
        resolve,
        (error) => {
          if (error instanceof AbortedError) this.aborts += 1;
          reject(error);
        },
      );
      this.waiters.push(waiter);
      waiter.cancelTimer = this.clock.after(Math.min(waitMs, maxWaitMs), () =>
        waiter.refuse(waitMs < maxWaitMs ? new WaitExpiredError() : this.overloaded()),
      );
    });
  }

  private grantWaiting(): void {
    if (this.waiters.size === 0) return;
    const share = Math.max(1, Math.floor(this.vegas.limit / 2));
    const isCapped = (key: string) => (this.heldByKey.get(key) ?? 0) >= share;
    while (this.hasFree()) {
      const waiter = this.waiters.next(isCapped);
      if (!waiter) return;
      this.waits.record(this.clock.monoMs() - waiter.sinceMs);
      waiter.grant(this.hand(waiter.key));
    }
  }

  private hasFree(): boolean {
    return this.inFlight < Math.floor(this.vegas.limit);
  }

  private hand(key: string | null): Permit {
    this.inFlight += 1;
    if (key !== null) this.heldByKey.set(key, (this.heldByKey.get(key) ?? 0) + 1);
    return new Permit(this, key);
  }

  private overloaded(): BrokerError {
    this.overloads += 1;
    return new BrokerError('overloaded');
  }

  private aborted(): AbortedError {
    this.aborts += 1;
    return new AbortedError();
  }
}
