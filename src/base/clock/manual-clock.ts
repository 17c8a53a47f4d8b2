import type { CancelTimer, Clock } from './clock.js';

interface PendingTimer {
  dueMs: number;
  order: number;
  callback: () => void;
}

/** A clock for unit specs: time moves only when the spec says so, and due timers fire in order. */
export class ManualClock implements Clock {
  private nowMs: number;
  private readonly wallOffsetMs: number;
  private readonly timers = new Set<PendingTimer>();
  private order = 0;

  constructor(startMs = 0, wallStartMs = 1_700_000_000_000) {
    this.nowMs = startMs;
    this.wallOffsetMs = wallStartMs - startMs;
  }

  monoMs(): number {
    return this.nowMs;
  }

  wallMs(): number {
    return this.nowMs + this.wallOffsetMs;
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const timer = { dueMs: this.nowMs + Math.max(0, delayMs), order: this.order++, callback };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** Timers not yet fired nor cancelled. */
  get pendingTimers(): number {
    return this.timers.size;
  }

  /** Moves time forward, firing what falls due on the way, earliest first. */
  advance(byMs: number): void {
    const untilMs = this.nowMs + byMs;
    for (;;) {
      const due = [...this.timers]
        .filter((timer) => timer.dueMs <= untilMs)
        .sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0];
      if (!due) break;
      this.timers.delete(due);
      this.nowMs = Math.max(this.nowMs, due.dueMs);
      due.callback();
    }
    this.nowMs = untilMs;
  }
}
