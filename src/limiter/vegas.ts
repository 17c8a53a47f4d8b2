import type { LaneLimits } from './limiter.options.js';

const slotCount = 60;
const slotMs = 1_000;
const smoothing = 2 / (50 + 1);
const adjustGapMs = 100;
const timeoutCut = 0.7;
const timeoutGapMs = 1_000;
/** A round trip of zero (coarse clock) would make base/recent meaningless. */
const tiniestRttMs = 0.001;

/**
 * The control law of one lane, after TCP Vegas: compare the recent round trip with the best one seen lately; what
 * is above the best is taken for queueing inside PostgreSQL, and the limit moves to keep a little of it.
 *
 *   queued = limit * (1 - base / recent)      queued <= alpha → grow,  queued >= beta → shrink,  else hold
 *
 * Pure: the time is an argument (monotonic milliseconds). Always true (L5): limit is finite and in [min, max].
 */
export class Vegas {
  private current: number;
  private readonly min: number;
  private readonly max: number;
  /** Minimum of each of the last 60 seconds; a slot whose second is too old counts for nothing. */
  private readonly slotMinMs = new Float64Array(slotCount).fill(Infinity);
  private readonly slotSecond = new Float64Array(slotCount).fill(-Infinity);
  private newestSecond = -Infinity;
  private recentMs = 0;
  private adjustedAtMs = -Infinity;
  private cutAtMs = -Infinity;

  constructor(
    limits: LaneLimits,
    private readonly alpha: number,
    private readonly beta: number,
  ) {
    this.min = limits.min;
    this.max = Math.max(limits.min, limits.max);
    this.current = this.clamp(limits.init);
  }

  get limit(): number {
    return this.current;
  }

  /** Smoothed round trip of the last 50 samples or so, 0 before the first. */
  get rttMs(): number {
    return this.recentMs;
  }

  /** Best round trip of the last minute, Infinity when that minute had no sample. */
  baseRttMs(nowMs: number): number {
    const oldest = Math.floor(nowMs / slotMs) - slotCount;
    let base = Infinity;
    for (let slot = 0; slot < slotCount; slot++) {
      if (this.slotSecond[slot] > oldest && this.slotMinMs[slot] < base) base = this.slotMinMs[slot];
    }
    return base;
  }

  /**
   * One statement that succeeded. `rttMs` is the statement alone: with the wait for a permit or a connection in
   * it, the law would be fed the delay it makes itself and pin the lane at its minimum.
   * `inFlight` counts this statement too: an idle lane says nothing about queueing, so it keeps its limit.
   */
  sample(rttMs: number, inFlight: number, nowMs: number): void {
    if (!Number.isFinite(rttMs)) return;
    const rtt = Math.max(rttMs, tiniestRttMs);
    this.remember(rtt, nowMs);
    if (inFlight < this.current - 1) return;
    // Per-sample steps oscillate at thousands of completions a second.
    if (nowMs - this.adjustedAtMs < adjustGapMs) return;
    this.adjustedAtMs = nowMs;

    const queued = this.current * (1 - this.baseRttMs(nowMs) / this.recentMs);
    const step = Math.max(1, Math.log(this.current));
    if (queued <= this.alpha) this.current = this.clamp(this.current + step);
    else if (queued >= this.beta) this.current = this.clamp(this.current - step);
  }

  /** A statement timed out. One cut a second: a stalled database times out everything in flight at once. */
  timedOut(nowMs: number): void {
    if (nowMs - this.cutAtMs < timeoutGapMs) return;
    this.cutAtMs = nowMs;
    this.current = this.clamp(this.current * timeoutCut);
  }

  private remember(rttMs: number, nowMs: number): void {
    const second = Math.floor(nowMs / slotMs);
    // After a silent minute the base starts anew, so the average must too, or it compares two eras.
    const silent = second - this.newestSecond >= slotCount;
    this.recentMs = silent ? rttMs : this.recentMs + (rttMs - this.recentMs) * smoothing;
    this.newestSecond = Math.max(this.newestSecond, second);

    const slot = ((second % slotCount) + slotCount) % slotCount;
    if (this.slotSecond[slot] !== second) {
      this.slotSecond[slot] = second;
      this.slotMinMs[slot] = rttMs;
    } else if (rttMs < this.slotMinMs[slot]) {
      this.slotMinMs[slot] = rttMs;
    }
  }

  private clamp(limit: number): number {
    return Math.min(this.max, Math.max(this.min, limit));
  }
}
