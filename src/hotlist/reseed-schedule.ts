/**
 * When a ring must compare itself with PostgreSQL, and how thoroughly.
 *
 *   cold     never walked to the end: owes a full walk
 *   window   every `intervalMs`: partitions written lately. Sound, because only a write makes a partition pending
 *            and each write moves its write time
 *   full     every `fullMs`: the floor under what a window cannot see (an entry cleared by mistake, a lost hint older
 *            than the window, a cursor moved back)
 *
 * A failed walk is tried again after a growing pause and never falls back from full to window. One walk of a ring
 * at a time. A replaced ring has a new, cold schedule, so a walk begun for the old one stamps nothing that counts.
 */
export interface ReseedPlan {
  intervalMs: number;
  /** 0: every walk is full. */
  fullMs: number;
  windowMs: number;
}

export type ReseedMode = 'full' | 'window';

const jitterSpanMs = 15_000;
const windowCeilingMs = 7 * 24 * 3_600_000;
const derivedWindowFloorMs = 120_000;
const retryMs = 1000;

/** Walks of many rings and brokers must not coincide: each is late by its own share of this. */
function spanMs(intervalMs: number): number {
  return Math.max(jitterSpanMs, intervalMs / 5);
}

/** The plan, and what had to be corrected in the given window so that it covers the time between two walks. */
export function planReseeds(options: { reseedMs: number; reseedFullMs: number; reseedWindowMs: number }): {
  plan: ReseedPlan;
  warnings: string[];
} {
  const intervalMs = options.reseedMs;
  const leastMs = intervalMs + spanMs(intervalMs);
  const askedMs = options.reseedWindowMs || Math.max(4 * intervalMs, derivedWindowFloorMs);
  const windowMs = Math.min(windowCeilingMs, Math.max(leastMs, askedMs));
  const warnings =
    options.reseedWindowMs !== 0 && windowMs !== askedMs
      ? [
          `a reseed window of ${askedMs} ms cannot work with a reseed every ${intervalMs} ms; using ${windowMs} ms`,
        ]
      : [];
  return { plan: { intervalMs, fullMs: options.reseedFullMs, windowMs }, warnings };
}

export class ReseedSchedule {
  private lastWalkMs: number | undefined;
  private lastFullMs: number | undefined;
  private inFlight: { mode: ReseedMode; demand: number } | undefined;
  private failures = 0;
  /** Full walks demanded from outside, and how many of them a finished full walk has answered. */
  private demanded = 0;
  private answered = 0;
  private urgent = false;

  /** `phase` in [0, 1): this ring's fixed share of the jitter. */
  constructor(
    private readonly plan: ReseedPlan,
    private readonly phase: number,
  ) {}

  get isWalking(): boolean {
    return this.inFlight !== undefined;
  }

  /** A pop that finds the ring empty should walk. */
  isDue(nowMs: number): boolean {
    if (this.inFlight) return false;
    if (this.urgent || this.lastWalkMs === undefined) return true;
    return nowMs - this.lastWalkMs >= this.pauseMs();
  }

  /** The background loop should walk. A ring no pop ever walked is not its business: nobody may want it. */
  isFloorDue(nowMs: number): boolean {
    if (this.inFlight || this.lastWalkMs === undefined) return false;
    if (this.urgent) return true;
    return (
      nowMs - this.lastWalkMs >=
      this.pauseMs() + (this.failures > 0 ? 0 : this.jitterMs(this.plan.intervalMs))
    );
  }

  /** How late the walk is; the background loop takes the latest first. */
  overdueMs(nowMs: number): number {
    if (this.urgent) return Infinity;
    return this.lastWalkMs === undefined ? 0 : nowMs - this.lastWalkMs - this.pauseMs();
  }

  /** Age of the last full walk; undefined while the ring is cold. */
  fullWalkAgeMs(nowMs: number): number | undefined {
    return this.lastFullMs === undefined ? undefined : nowMs - this.lastFullMs;
  }

  mode(nowMs: number): ReseedMode {
    const { fullMs } = this.plan;
    const owed =
      this.lastFullMs === undefined ||
      this.demanded !== this.answered ||
      fullMs === 0 ||
      nowMs - this.lastFullMs >= fullMs + this.jitterMs(fullMs);
    return owed ? 'full' : 'window';
  }

  /** A cursor may have moved back without a write. A walk already under way may have read past it: it does not count. */
  demandFull(): void {
    this.demanded++;
    this.urgent = true;
  }

  /** Marks may have been lost lately: a walk of whatever mode is due, without waiting for its interval. */
  demandWalk(): void {
    this.urgent = true;
  }

  begin(nowMs: number): { mode: ReseedMode; windowMs: number | null } {
    const mode = this.mode(nowMs);
    this.inFlight = { mode, demand: this.demanded };
    this.urgent = false;
    return { mode, windowMs: mode === 'full' ? null : this.plan.windowMs };
  }

  /** Returns the length of a run of failures worth a warning: 3, then powers of two. */
  finish(ok: boolean, nowMs: number): number | undefined {
    const walk = this.inFlight;
    if (!walk) return undefined;
    this.inFlight = undefined;
    this.lastWalkMs = nowMs;
    if (ok) {
      this.failures = 0;
      if (walk.mode === 'full') {
        this.lastFullMs = nowMs;
        this.answered = walk.demand;
      }
      return undefined;
    }
    this.failures++;
    const isPowerOfTwo = (this.failures & (this.failures - 1)) === 0;
    return this.failures === 3 || (this.failures > 3 && isPowerOfTwo) ? this.failures : undefined;
  }

  private pauseMs(): number {
    if (this.failures === 0) return this.plan.intervalMs;
    return Math.min(this.plan.intervalMs, retryMs * 2 ** Math.min(this.failures - 1, 20));
  }

  private jitterMs(intervalMs: number): number {
    return this.phase * spanMs(intervalMs);
  }
}
