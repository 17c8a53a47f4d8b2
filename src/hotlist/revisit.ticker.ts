import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { type CancelTimer, CLOCK, type Clock } from '../base/clock/clock.js';
import { HOTLIST_OPTIONS, type HotlistOptions } from './hotlist.options.js';
import { HotlistService } from './hotlist.service.js';

/** Ticks are at least this far apart, so that many close due times share one. */
const tickGapMs = 10;
/** A timer cannot be set for longer than 24 days; it is set anew until the time has come. */
const longestTimerMs = 3_600_000;
const ticketSweepMs = 5000;

/**
 * The clock hand of the hot-list. One timer stands at the next due time of all wheels: a broker whose partitions are
 * all at rest has none. Beside it three slow sweeps. A late or lost tick costs little, since a take brings forward
 * what is due by itself.
 */
@Injectable()
export class RevisitTicker implements OnApplicationBootstrap, OnModuleDestroy {
  private cancelTick: CancelTimer | undefined;
  private tickAtMs = Infinity;
  private earliestTickMs = -Infinity;
  private readonly sweeps = new Map<() => void, CancelTimer>();
  private isRunning = false;

  constructor(
    private readonly hotlist: HotlistService,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(HOTLIST_OPTIONS) private readonly options: HotlistOptions,
  ) {}

  onApplicationBootstrap(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    this.hotlist.onRevisitEarlier(() => this.aim());
    this.aim();
    this.every(ticketSweepMs, () => this.hotlist.sweepTickets());
    this.every(this.options.idleSweepMs, () => this.hotlist.sweepIdle());
    this.every(this.options.unservedTrimMs, () => this.hotlist.trimUnserved());
  }

  onModuleDestroy(): void {
    this.isRunning = false;
    this.cancelTick?.();
    this.tickAtMs = Infinity;
    for (const cancel of this.sweeps.values()) cancel();
    this.sweeps.clear();
  }

  /** Sets the timer to the next due time, unless it stands earlier already. */
  private aim(): void {
    if (!this.isRunning) return;
    const atMs = Math.max(this.hotlist.nextRevisitMs, this.earliestTickMs);
    if (atMs >= this.tickAtMs) return;
    this.cancelTick?.();
    this.tickAtMs = atMs;
    // Rounded up: timers drop fractions, and a tick before its time would find nothing and come again.
    const delayMs = Math.ceil(Math.min(longestTimerMs, Math.max(0, atMs - this.clock.monoMs())));
    this.cancelTick = this.clock.after(delayMs, () => this.tick());
  }

  private tick(): void {
    this.tickAtMs = Infinity;
    this.hotlist.promoteDue();
    this.earliestTickMs = this.clock.monoMs() + tickGapMs;
    this.aim();
  }

  private every(periodMs: number, sweep: () => void): void {
    if (periodMs === 0) return;
    const again = () => this.sweeps.set(sweep, this.clock.after(periodMs, run));
    const run = () => {
      sweep();
      again();
    };
    again();
  }
}
